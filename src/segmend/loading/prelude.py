"""What a broker knows before it loads its first log: identities, marks, checkpoints, metadata.

Follows `KafkaRaftServer.initializeLogDirs` and the beginning of `LogManager.loadLogs`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from segmend.broker.identity import UNEXPECTED_METADATA, Identity, Verdict, verify
from segmend.broker.strays import is_kraft
from segmend.loading.dirs import DirState, identity_of, read_dir
from segmend.loading.image import MetadataImage, read_image
from segmend.loading.metadata import look_at_metadata
from segmend.loading.reads import Budget
from segmend.loading.replicas import Situation
from segmend.loading.timing.estimate import Machine
from segmend.loading.values import DirectoryOutcome
from segmend.logdir import disk
from segmend.logdir.config import ServerConfig
from segmend.logdir.release import Release
from segmend.logdir.tree import LogDir, PartitionDir


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`clean` overrides the marker; `now_ms` is for retention; `deep` reads every batch of any disk."""

    release: Release
    release_reason: str = "as given"
    config: ServerConfig | None = None
    clean: bool | None = None
    deep: bool = False
    now_ms: int = 0
    machine: Machine = field(default_factory=Machine)


def metadata_of(log_dir: LogDir) -> PartitionDir | None:
    """The `__cluster_metadata-0` of a log dir."""
    return next((p for p in log_dir.partitions if p.kind == "cluster-metadata"), None)


class Prelude:
    """All dirs of one broker before the load; each part is looked at when first asked for."""

    def __init__(self, dirs: Sequence[LogDir], options: Options, budget: Budget) -> None:
        self.dirs = dirs
        self.options = options
        self.budget = budget
        self.config = options.config or ServerConfig(release=options.release)

    @cached_property
    def states(self) -> list[DirState]:
        """What the broker has read of each dir; its identity counts already."""
        clean, cleaner = self.options.clean, self.config.cleaner_runs
        states = [read_dir(d, self.options.release, clean=clean, cleaner=cleaner) for d in self.dirs]
        for state in states:
            if state.path in self.verdict.offline:
                state.leave_out(self.verdict.offline[state.path])
        return states

    @cached_property
    def kraft(self) -> bool:
        """Whether the node runs in KRaft mode."""
        found = (log_dir.meta_properties.value for log_dir in self.dirs)
        return is_kraft(self.options.release, [None if value is None else value.version for value in found])

    @cached_property
    def verdict(self) -> Verdict:
        """What the meta.properties of all dirs together say."""
        home = self.metadata_dir
        identities = [identity_of(each, is_metadata_dir=each is home) for each in self.dirs]
        identities += [Identity(path=path, missing=True, value=None) for path in self._absent()]
        node_id, release = self.config.node_id, self.options.release
        return verify(identities, kraft=self.kraft, node_id=node_id, release=release)

    def _absent(self) -> list[str]:
        """Log dirs of the configuration that are not there, if any of the others is among those given."""
        given = {each.real_path for each in self.dirs}
        wanted = [] if self.options.config is None else list(self.config.log_dirs)
        if not any(disk.real_path(path) in given for path in wanted):
            return []
        return [path for path in wanted if disk.path_type(path) is None]

    @cached_property
    def metadata_dir(self) -> LogDir | None:
        """The dir of `metadata.log.dir`; without a configuration the one that has the metadata."""
        if self.options.config is not None:
            wanted = disk.real_path(self.config.metadata_log_dir)
            found = next((d for d in self.dirs if d.real_path == wanted), None)
            if found is not None:
                return found
        return next((d for d in self.dirs if metadata_of(d)), next(iter(self.dirs), None))

    @property
    def node_id(self) -> int | None:
        """The id of this node, None if nothing tells it."""
        if self.config.node_id is not None:
            return self.config.node_id
        found = (log_dir.meta_properties.value for log_dir in self.dirs)
        return next((value.node_id for value in found if value and value.node_id is not None), None)

    @cached_property
    def image(self) -> MetadataImage | None:
        """What the cluster's metadata says; None in ZooKeeper mode, or if none can be read."""
        if not self.kraft:
            return None
        found = (metadata_of(log_dir) for log_dir in self.dirs)
        images = (read_image(partition) for partition in found if partition is not None)
        return next((image for image in images if image is not None), None)

    def read_metadata_logs(self, refuse: Callable[[str | None], None]) -> list[DirectoryOutcome]:
        """Read the metadata log of each dir that has one; `refuse` is told why the process ends."""
        found = []
        for state in self.states if self.kraft else ():
            partition = metadata_of(state.log_dir)
            if partition is None:
                continue
            if state.log_dir is not self.metadata_dir:
                refuse(UNEXPECTED_METADATA.format(state.path))
            outcome, work, refusal = look_at_metadata(partition, self.options.release)
            state.metadata += work
            refuse(refusal)
            found.append(outcome)
        return found

    def situation(self) -> Situation:
        """What is the same for all replicas."""
        return Situation(
            release=self.options.release, kraft=self.kraft, image=self.image, node_id=self.node_id,
            config=self.config, now_ms=self.options.now_ms, budget=self.budget,
        )  # fmt: skip
