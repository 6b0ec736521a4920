"""The next start of one broker, played directory by directory as somebody asks about it.

`segmend.loading.run` plays all of it, in order. Findings and plans ask about single directories:
each is played once, and what became of it is what they refer to.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from functools import cached_property

from segmend.broker.failures import (
    ALL_DIRS_FAILED,
    ALREADY_OFFLINE,
    DUPLICATE,
    METADATA_DIR_FAILED,
    OFFLINE_STOPS_READS,
)
from segmend.broker.identity import UNEXPECTED_METADATA, IdentityVerdict
from segmend.formats.names import DirKind
from segmend.frozen import replace
from segmend.loading.beside_a_broker import load_settled
from segmend.loading.dirs import DirState, is_needed, read_checkpoint
from segmend.loading.metadata_log import look_at_metadata
from segmend.loading.prelude import ForecastOptions, Prelude
from segmend.loading.reads import Budget
from segmend.loading.replicas import Loaded
from segmend.loading.values import DirectoryOutcome
from segmend.logdir.partition_dir import PartitionDir
from segmend.node.broker_dirs import BrokerDirs

# Directories that are remembered; findings come directory by directory.
_KEPT = 4


class Start:
    """What becomes of a broker's dirs; `reads` is what is read of each directory beyond the start itself."""

    def __init__(self, broker: BrokerDirs, reads: Budget) -> None:
        self.broker = broker
        self._reads = reads
        self._prelude = Prelude(broker, ForecastOptions(whole=False), reads)
        self._loaded: OrderedDict[tuple[str, str], Loaded] = OrderedDict()
        self._metadata: dict[str, tuple[DirectoryOutcome, str | None]] = {}

    @cached_property
    def states(self) -> dict[str, DirState]:
        """What the broker knows of each dir before it loads a log, by path."""
        return {state.path: state for state in self._prelude.states}

    @property
    def identity(self) -> IdentityVerdict:
        return self._prelude.verdict

    def loaded(self, state: DirState, partition: PartitionDir) -> Loaded:
        key = state.path, partition.name
        if key not in self._loaded:
            situation = replace(self._prelude.situation(), budget=replace(self._reads))
            scratch = DirState(
                log_dir=state.log_dir, clean=state.clean, live=state.live, offsets=state.offsets
            )
            self._loaded[key] = load_settled(scratch, partition.afresh(), situation)
            if len(self._loaded) > _KEPT:
                self._loaded.popitem(last=False)
        return self._loaded[key]

    def metadata(self, state: DirState, partition: PartitionDir) -> tuple[DirectoryOutcome, str | None]:
        """What becomes of a metadata log, and why the process ends over it."""
        if state.path not in self._metadata:
            outcome, _, refusal = look_at_metadata(partition.afresh(), self.broker)
            self._metadata[state.path] = outcome, refusal
        return self._metadata[state.path]

    def misplaced(self, state: DirState, partition: PartitionDir) -> str | None:
        """Why the process ends over a metadata log that is not where it is configured to be."""
        home = self.broker.metadata_dir
        if home is None or state.log_dir is home:
            return None
        return UNEXPECTED_METADATA.format(partition.path, home.path)

    def checkpoint(self, state: DirState, name: str) -> DirState:
        """What one of the checkpoints alone does to its dir."""
        alone = DirState(log_dir=state.log_dir, clean=state.clean)
        read_checkpoint(alone, name, self.broker.release)
        if alone.doubtful:
            alone.fatal = alone.fatal or self._dying(state)
        return alone

    def _dying(self, state: DirState) -> str | None:
        """Why a broker dies that loads an open transaction in a dir that is marked offline already."""
        if not OFFLINE_STOPS_READS.of(self.broker.release):
            return None
        for partition in state.log_dir.partitions:
            if partition.kind != "cluster-metadata" and self.loaded(state, partition).open_transactions:
                return ALREADY_OFFLINE.format(state.path)
        return None

    def without(self, state: DirState, reason: str) -> str | None:
        """Why the broker ends if this dir does not serve; None if it has others to live on."""
        if is_needed(state, self.broker):
            return METADATA_DIR_FAILED.format(state.path, reason)
        if all(each.offline for each in self.states.values() if each is not state):
            return f"{ALL_DIRS_FAILED.format(', '.join(self.states))}: {reason}"
        return None

    def twin(self, state: DirState, partition: PartitionDir) -> str | None:
        """Why the broker ends if another directory is the same replica."""
        mine = self.loaded(state, partition)
        for other, same in self._replicas[partition.kind, partition.topic, partition.partition]:
            if mine.loads_as is None or (other is state and same.name == partition.name):
                continue
            twin = self.loaded(other, same)
            if twin.loads_as == mine.loads_as:
                name = f"{partition.topic}-{partition.partition}"
                return DUPLICATE.of(self.broker.release).format(name, twin.path, mine.path)
        return None

    @cached_property
    def _replicas(self) -> dict[tuple[DirKind, str, int], list[tuple[DirState, PartitionDir]]]:
        replicas = defaultdict(list)
        for state in self.states.values():
            for each in state.log_dir.partitions:
                replicas[each.kind, each.topic, each.partition].append((state, each))
        return replicas
