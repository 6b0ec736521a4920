"""What mends look at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property

from segmend.errors import SegmendError
from segmend.findings import Finding
from segmend.formats.config_values import integer
from segmend.formats.names import file_prefix
from segmend.logdir.log_dir import LogDir
from segmend.logdir.log_segment import LogSegment
from segmend.logdir.partition_dir import PartitionDir
from segmend.node.metadata_image import MetadataImage
from segmend.surgery.derive.index_interval import interval_of
from segmend.surgery.ops.repair.options import Options
from segmend.surgery.request import Request


class BeyondRepair(SegmendError):
    """What this disk does not tell, so that nothing can be made anew; the words say why."""


class Scene:
    """The dirs, and what all mends want to know of them. `damaged` are the paths of the findings."""

    def __init__(self, request: Request[Options], findings: Sequence[Finding]) -> None:
        self.request = request
        self.broker = request.broker
        self.release = request.release
        self.damaged = frozenset(f"{finding.dir}/{finding.file}" for finding in findings)
        self._intervals: dict[str, int] = {}

    def log_dir(self, finding: Finding) -> LogDir:
        return next(log_dir for log_dir in self.request.dirs if log_dir.path == finding.dir)

    def partition(self, finding: Finding) -> PartitionDir:
        """The partition directory of a finding; raises `BeyondRepair` if it concerns none."""
        name = finding.folder
        partition = self.log_dir(finding).partition(name)
        if partition is None:
            raise BeyondRepair(f"{name} is no partition directory")
        return partition

    @cached_property
    def image(self) -> MetadataImage:
        """What `__cluster_metadata-0` in one of the dirs says; empty without one."""
        return self.broker.metadata or MetadataImage()

    def interval(self, partition: PartitionDir) -> int:
        """index.interval.bytes: as asked for, as the cluster says, or as the sound indexes show."""
        asked = self.request.options.index_interval
        if asked is not None:
            return asked
        if partition.path not in self._intervals:
            said = self.image.configs.get(partition.topic, {}).get("index.interval.bytes")
            said = said or self.image.brokers.get("", {}).get("log.index.interval.bytes")
            told = integer(said)
            siblings = (each for each in self._topics[partition.topic] if each is not partition)
            self._intervals[partition.path] = interval_of(
                partition, self._sound_indexes(partition), told,
                (LogSegment(each, base) for each in siblings for base in self._sound_indexes(each)),
            )  # fmt: skip
        return self._intervals[partition.path]

    @cached_property
    def _topics(self) -> dict[str, list[PartitionDir]]:
        by_topic: dict[str, list[PartitionDir]] = defaultdict(list)
        for partition in self.request.broker.partitions:
            by_topic[partition.topic].append(partition)
        return by_topic

    def _sound_indexes(self, partition: PartitionDir) -> list[int]:
        return sorted(base for base in partition.layout.index if self._sound(partition, base))

    def _sound(self, partition: PartitionDir, base: int) -> bool:
        return not any(
            f"{partition.path}/{file_prefix(base)}{suffix}" in self.damaged for suffix in (".index", ".log")
        )
