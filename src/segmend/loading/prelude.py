"""What a broker knows before it loads its first log: identities, marks, checkpoints, metadata.

Follows `KafkaRaftServer.initializeLogDirs` and the beginning of `LogManager.loadLogs`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from functools import cached_property

from segmend.broker.identity import UNEXPECTED_METADATA, Identity, IdentityVerdict, verify
from segmend.broker.server_rules import MIGRATION
from segmend.frozen import frozen
from segmend.loading.dirs import DirState, identity_of, read_dir
from segmend.loading.metadata import Metadata, look_at_metadata, metadata_of
from segmend.loading.reads import Budget
from segmend.loading.replicas import Situation, searched
from segmend.loading.timing.estimate import Machine
from segmend.loading.values import DirectoryOutcome
from segmend.logdir import disk
from segmend.node.broker_dirs import BrokerDirs


@frozen
class Options:
    """`clean` overrides the marker; `now_ms` is for retention; `deep` reads every batch of any disk.

    `whole`: these are all log dirs of the node. A check may be shown one of several.
    """

    clean: bool | None = None
    whole: bool = True
    deep: bool = False
    now_ms: int = 0
    machine: Machine = field(default_factory=Machine)


class Prelude:
    """One broker before the load; each part is looked at when first asked for."""

    def __init__(self, broker: BrokerDirs, options: Options, budget: Budget) -> None:
        self.broker = broker
        self.options = options
        self.budget = budget

    @cached_property
    def states(self) -> list[DirState]:
        """What the broker has read of each dir; its identity counts already."""
        broker, clean = self.broker, self.options.clean
        cleaner = broker.config.cleaner_runs
        states = [read_dir(each, broker.release, clean=clean, cleaner=cleaner) for each in broker.dirs]
        for state in states:
            if state.path in self.verdict.offline:
                state.leave_out(self.verdict.offline[state.path])
        return states

    @cached_property
    def verdict(self) -> IdentityVerdict:
        """What the meta.properties of all dirs together say."""
        broker = self.broker
        home = broker.metadata_dir
        identities = [identity_of(each, is_metadata_dir=each is home) for each in broker.dirs]
        identities += [Identity(path=path, missing=True, value=None) for path in self._absent()]
        config = broker.config
        return verify(
            identities, kraft=broker.kraft, node_id=config.node_id, release=broker.release,
            migrating=config.given.get(MIGRATION, "").strip().lower() == "true",
        )  # fmt: skip

    def _absent(self) -> list[str]:
        """Log dirs of the configuration that are not there, if any of the others is among those given."""
        given = {each.real_path for each in self.broker.dirs}
        wanted = [] if self.broker.given is None else list(self.broker.given.log_dirs)
        if not any(disk.real_path(path) in given for path in wanted):
            return []
        return [path for path in wanted if disk.path_type(path) is None]

    @cached_property
    def metadata(self) -> Metadata:
        """What the node goes by."""
        return metadata_of(self.broker, whole=self.options.whole)

    def read_metadata_logs(self, refuse: Callable[[str | None], None]) -> list[DirectoryOutcome]:
        """Read the metadata log of each dir that has one; `refuse` is told why the process ends."""
        found, home = [], self.broker.metadata_dir
        for state in self.states if self.broker.kraft else ():
            partition = state.log_dir.cluster_metadata
            if partition is None:
                continue
            if state.log_dir is not home:
                refuse(UNEXPECTED_METADATA.format(partition.path, home.path if home else "..."))
            outcome, work, refusal = look_at_metadata(partition, self.broker.release)
            state.metadata += work
            refuse(refusal)
            found.append(self.metadata.on(outcome) if state.log_dir is home else outcome)
        refuse(self.metadata.waits)
        return [*found, *filter(None, [self.metadata.line()])]

    def situation(self) -> Situation:
        """What is the same for all replicas."""
        image = self.metadata.image
        now = self.options.now_ms
        return searched(Situation(broker=self.broker, now_ms=now, budget=self.budget, image=image))
