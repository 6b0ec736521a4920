"""What a check may ask: the release, the level, the directories, and each segment's one scan.

`BrokerContext` > `DirContext` > `PartitionContext` > `SegmentView`. All are lazy and
remember what they read; a partition's memory goes when the partition is done. Reading
errors (`Unreadable`) are let through: the runner notes them as `ReadFailure`s, which the
environment checks turn into findings.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from segmend.broker.recovery import first_recovered
from segmend.findings import NOWHERE, Finding, Remedy, Safety, Severity, Where
from segmend.formats.names import file_prefix, parse_dir_name, parse_file_name
from segmend.formats.offset_checkpoint import HIGH_WATERMARK, RECOVERY_POINT
from segmend.frozen import frozen
from segmend.json_values import JsonObject
from segmend.logdir.file_system import Unreadable
from segmend.logdir.user import User
from segmend.node.process_limits import MAX_MAP_COUNT

from . import metadata_mends, remedies
from .common_history import shows_whose_it_is
from .manual import Level
from .segment_view import SegmentView

if TYPE_CHECKING:
    from segmend.formats.epoch_checkpoint import EpochCheckpoint
    from segmend.formats.meta_properties import MetaProperties
    from segmend.formats.offset_checkpoint import OffsetCheckpoint
    from segmend.kernel.stretches import Stretches
    from segmend.kernel.types import SegmentScan
    from segmend.logdir.file_system import FileStat
    from segmend.logdir.loaded import LoadedFile
    from segmend.logdir.log_dir import LogDir
    from segmend.logdir.partition_dir import PartitionDir
    from segmend.node.broker_dirs import BrokerDirs

    from .manual import Entry

    Scanned = Callable[[SegmentView], SegmentScan | None]
    """The scan of a segment as somebody else has it; None where its log is to be read."""
    Summed = Callable[[SegmentView], Stretches]
    """What is to be filled when the log of a segment is read."""

T = TypeVar("T")

# What may follow the name of a partition in that of a directory that is none.
_PARTITION_NAME = re.compile(r".+?-\d+(?=\D)")


class Keeper(NamedTuple):
    """Who keeps scans from one run to the next, and wants to see what was looked at."""

    scanned: Scanned | None = None
    """Asked before the log of a segment is read, which it is where there is no scan of it."""
    stretches: Summed | None = None
    done: Callable[[PartitionContext], None] | None = None
    """Handed each partition with the scans of its segments when it is done."""


NOBODY: Final = Keeper()


@frozen
class ReadFailure:
    """A file or directory that could not be read; `file` is relative to the log dir."""

    file: str
    errno: int
    reason: str


class BrokerContext:
    """All log dirs of one broker, looked at together."""

    def __init__(
        self,
        broker_dirs: BrokerDirs,
        *,
        level: Level,
        codes: Mapping[str, Entry],
        max_map_count: int = MAX_MAP_COUNT,
        keeper: Keeper = NOBODY,
        user: User | None = None,
    ) -> None:
        self.broker_dirs = broker_dirs
        self.dirs = broker_dirs.dirs
        self.release = broker_dirs.release
        self.level = level
        self.codes = codes
        self.max_map_count = max_map_count
        self.keeper = keeper
        self.user = user
        self._contexts = {id(log_dir): DirContext(self, log_dir) for log_dir in self.dirs}

    def of(self, log_dir: LogDir) -> DirContext:
        return self._contexts[id(log_dir)]

    def has_current(self, key: tuple[str, int]) -> bool:
        """Whether a current replica of (topic, partition) is in any of the dirs."""
        return key in self.current

    @cached_property
    def current(self) -> dict[tuple[str, int], list[PartitionDir]]:
        """The current replicas by (topic, partition); more than one directory each is a fault."""
        replicas: dict[tuple[str, int], list[PartitionDir]] = {}
        for partition in self.broker_dirs.current:
            replicas.setdefault(partition.key, []).append(partition)
        return replicas

    @cached_property
    def former_names(self) -> dict[tuple[str, str], str]:
        """By dir and name: foreign directories that were a partition, by its lines; it is nowhere else."""
        there = {partition.key for partition in self.broker_dirs.partitions}
        names = {}
        for context in map(self.of, self.dirs):
            for name in context.log_dir.foreign:
                former = _PARTITION_NAME.match(name)
                parsed = parse_dir_name(former[0]) if former else None
                key = (parsed.topic, parsed.partition) if parsed else None
                if former and key not in there and key in context.offsets(RECOVERY_POINT):
                    names[context.path, name] = former[0]
        return names

    @cached_property
    def topic_ids(self) -> list[tuple[PartitionDir, str]]:
        """Current replicas with the topic id of their partition.metadata, where it can be read."""
        ids = []
        for partition in (p for same in self.current.values() for p in same):
            if partition.topic_id is not None:
                ids.append((partition, partition.topic_id))
        return ids


class DirContext:
    """One log dir: its marker, its lock, its checkpoints."""

    def __init__(self, broker: BrokerContext, log_dir: LogDir) -> None:
        self.broker = broker
        self.broker_dirs = broker.broker_dirs
        self.log_dir = log_dir
        self.release = broker.release
        self.level = broker.level
        self.path = str(log_dir.path)
        self.failures: list[ReadFailure] = []
        self._offsets: dict[str, Mapping[tuple[str, int], int]] = {}
        self._recovered_from: dict[str, int] = {}

    @cached_property
    def clean(self) -> bool:
        """Whether the clean shutdown marker exists: the next start recovers nothing."""
        return self.log_dir.is_clean

    @cached_property
    def running(self) -> bool:
        """Whether a process holds the dir's `.lock`: bytes may be in flight."""
        return bool(self.log_dir.broker_running())

    def failure(self, error: Unreadable) -> ReadFailure:
        path = error.path.removeprefix(self.path).lstrip("/")
        return ReadFailure(file=path, errno=error.errno, reason=error.reason)

    def note(self, error: Unreadable) -> None:
        """Remember what could not be read, and go on."""
        self.failures.append(self.failure(error))

    def _noted(self, file: LoadedFile[T]) -> LoadedFile[T]:
        if file.unreadable is not None:
            self.note(file.unreadable)
        return file

    @cached_property
    def identity(self) -> LoadedFile[MetaProperties]:
        return self._noted(self.log_dir.meta_properties)

    def checkpoint(self, name: str) -> LoadedFile[OffsetCheckpoint]:
        return self._noted(self.log_dir.offset_checkpoint(name))

    def offsets(self, name: str) -> Mapping[tuple[str, int], int]:
        """The entries of an offset checkpoint that can be read; the last of duplicates wins."""
        if name not in self._offsets:
            value = self.checkpoint(name).value
            self._offsets[name] = {} if value is None else value.offsets()
        return self._offsets[name]

    def recovers(self, partition: PartitionDir, base_offset: int) -> bool:
        """Whether the next start recovers this segment (`LogLoader.recoverLog`).

        So it does without the clean marker, from the recovery point on; the metadata log is always
        recovered.
        """
        if partition.kind == "cluster-metadata":
            return True
        if self.clean:
            return False
        if partition.name not in self._recovered_from:
            point = self.log_dir.recovery_points.get(partition.key, 0)
            bases = sorted(partition.layout.logs)
            first = first_recovered(bases, point)
            self._recovered_from[partition.name] = bases[first] if bases else 0
        return base_offset >= self._recovered_from[partition.name]

    def stat(self, name: str = "") -> FileStat:
        """The status of the dir itself, or of a directory in it."""
        return self.log_dir.files.file_stat(f"{self.path}/{name}" if name else self.path)

    @cached_property
    def user(self) -> User | None:
        """The broker's user: who owns the dir or, if that is root, most partitions; unless he was told."""
        if self.broker.user is not None:
            return self.broker.user
        own = self.stat()
        if own.uid:
            return User.of(own.uid, own.gid)
        statuses = [self.stat(partition.name) for partition in self.log_dir.partitions]
        common = Counter((status.uid, status.gid) for status in statuses).most_common(1)
        return User.of(*common[0][0]) if common else None

    def finding(
        self,
        code: str,
        message: str,
        where: Where = NOWHERE,
        *,
        of: tuple[str, int] | None = None,
        broker_says: str | None = None,
        remedy: Remedy | None = None,
        severity: Severity | None = None,
        detail: JsonObject | None = None,
        **more: object,
    ) -> Finding:
        """A finding in this dir, perhaps `of` a topic's partition; `severity` defaults to the code's.

        `where.file` is relative to the dir.
        """
        topic, partition = of or (None, None)
        return Finding(
            code=code,
            severity=severity or self.broker.codes[code].code.severity,
            message=message,
            dir=self.path,
            topic=topic,
            partition=partition,
            file=where.file,
            position=where.position,
            offset=where.offset,
            broker_says=broker_says,
            remedy=remedy,
            detail={**(detail or {}), **more},
        )


class PartitionContext:
    """One partition directory: its segments' scans and its lines in the dir's checkpoints."""

    def __init__(self, dir_context: DirContext, partition: PartitionDir) -> None:
        self.dir = dir_context
        self.partition = partition
        self.broker_dirs = dir_context.broker_dirs
        self.release = dir_context.release
        self.level = dir_context.level
        self.key = partition.key
        self.scans: list[SegmentScan | None] = []
        self.held: list[Finding] = []
        """What was found so far where a broker runs, which may have changed it meanwhile."""

    @property
    def clean(self) -> bool:
        """Whether the next start will trust this partition without recovery."""
        return self.dir.clean

    @property
    def running(self) -> bool:
        """Whether a broker is writing here right now."""
        return self.dir.running

    @cached_property
    def views(self) -> list[SegmentView]:
        """The segments in the broker's loading order."""
        names = self.partition.layout.logs
        segments = [segment for segment in self.partition.segments if segment.base_offset in names]
        nexts: list[int | None] = [segment.base_offset for segment in segments[1:]]
        views = []
        for segment, following in zip(segments, [*nexts, None], strict=False):
            log = self.partition.entry(names[segment.base_offset])
            views.append(SegmentView(self, segment, log, following))
        return views

    @property
    def epochs(self) -> LoadedFile[EpochCheckpoint]:
        return self.partition.leader_epochs.readable()

    def checkpointed(self, name: str) -> int | None:
        """This partition's value in an offset checkpoint of the dir, or None."""
        return self.dir.offsets(name).get(self.key)

    @property
    def unmarked(self) -> bool:
        """Whether no high watermark tells how far it reached, so that only what was derived from it does."""
        return self.partition.kind == "current" and self.checkpointed(HIGH_WATERMARK) is None

    @cached_property
    def orphans_above(self) -> list[str]:
        """Indexes and snapshots left of an active segment whose log is gone (N10; others are I22).

        Orphaned indexes count when no log has a base as high, and the log or a checkpoint
        reaches it; a snapshot alone proves nothing, a clean stop leaves one at the log end offset.
        """
        names = self.partition.layout
        last = max(names.logs, default=-1)
        kinds = (names.index, names.timeindex, names.txnindex)
        base = min((base for kind in kinds for base in kind if base > last), default=None)
        if base is None or (names.logs and not self._reached(base)):
            return []
        named = (name for name in self.partition.entries if name.startswith(file_prefix(base)))
        return sorted(name for name in named if parse_file_name(name).base_offset == base)

    def _reached(self, offset: int) -> bool:
        """Whether there was a record at or before `offset`, by the log and by the checkpoints."""
        points = (self.checkpointed(name) or 0 for name in (RECOVERY_POINT, HIGH_WATERMARK))
        return offset <= max(self.log_end_offset, *points)

    @cached_property
    def log_end_offset(self) -> int:
        """LEO as a broker finds it: the next offset after the last batch that can be reached.

        After the scans it comes from the last scan; before, from the tail of the active
        segment, walked from its last index entry (LogSegment.readNextOffset).
        """
        if self.scans and self.scans[-1] is not None:
            return self.scans[-1].next_offset
        return self.views[-1].tail.next_offset if self.views else 0

    def finding(
        self,
        code: str,
        message: str,
        where: Where = NOWHERE,
        *,
        broker_says: str | None = None,
        remedy: Remedy | None = None,
        severity: Severity | None = None,
        detail: JsonObject | None = None,
        **more: object,
    ) -> Finding:
        """A finding in this partition; `where.file` is a name inside its directory."""
        name = self.partition.name
        return self.dir.finding(
            code,
            message,
            where._replace(file=f"{name}/{where.file}" if where.file else name),
            of=self.key,
            broker_says=broker_says,
            remedy=remedy,
            severity=severity,
            detail=detail,
            **more,
        )

    def repair(self, *, deep: bool = False) -> Remedy:
        """`segmend plan repair` of this partition; `deep` for what only a deep check sees."""
        return remedies.repair(self.dir.path, self.partition.name, deep=deep)

    def trim(self) -> Remedy:
        return remedies.trim(self.dir.path, self.partition.name)

    def good_batches(self, otherwise: Remedy | None = None) -> Remedy:
        """`segmend plan repair --from` another replica; `--blank`, or this, if the metadata knows of none."""
        image = self.broker_dirs.metadata
        alone = image is not None and image.alone(*self.key)
        if alone and otherwise is not None:
            return otherwise
        wanted = remedies.blank if alone else remedies.from_replica
        return wanted(self.dir.path, self.partition.name)

    def graft(self, *, whole: bool = False) -> Remedy:
        """`segmend plan graft` of this partition, from a leader's files that somebody must name.

        The metadata log is not replicated as other partitions are: `segmend plan quorum`. A replica that is
        being moved here is nobody's follower yet: without it the current one stays, and is moved anew.
        """
        if self.partition.kind == "cluster-metadata":
            return metadata_mends.mend(self)
        if self.partition.kind == "future":
            aside = self.dir.broker.has_current(self.key)
            back = remedies.adopt(self.dir.path, self.partition.name, replace=False, safety=Safety.ADVICE)
            return self.set_aside(safety=Safety.ADVICE) if aside else back
        whole = whole or not shows_whose_it_is(self)
        return remedies.graft(self.dir.path, self.partition.name, whole=whole)

    def look(self, file: str | None = None) -> Remedy:
        """`segmend show` of the partition directory, or of a file in it."""
        return remedies.show(self.dir.path, f"{self.partition.name}/{file}" if file else self.partition.name)

    def set_aside(self, *files: str, safety: Safety = Safety.SAFE) -> Remedy:
        """Move the partition directory, or files in it, out of the log dirs."""
        names = [f"{self.partition.name}/{file}" for file in files] or [self.partition.name]
        return remedies.set_aside(self.dir.path, *names, safety=safety)
