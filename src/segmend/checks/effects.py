"""What the next start does about each finding: its directory is forecast, and the effects matched to it.

Not a check. A directory is forecast when the first finding in it turns up, so a healthy disk
costs nothing. A finding is matched by file, then by segment, then by offset; where the
forecast has nothing about a fault, its manual page speaks.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from segmend.broker.failures import (
    ALL_DIRS_FAILED,
    DIR_FAILED,
    DUPLICATE,
    METADATA_DIR_FAILED,
    NOT_A_PARTITION,
    Fate,
    LoadFailure,
)
from segmend.broker.identity import UNEXPECTED_METADATA
from segmend.findings import Basis, BrokerEffect, Finding, Severity
from segmend.formats import meta_properties, partition_metadata
from segmend.formats.names import parse_file_name
from segmend.formats.offset_checkpoint import CLEANER_OFFSET, HIGH_WATERMARK, LOG_START_OFFSET, RECOVERY_POINT
from segmend.loading.dirs import DirState, read_checkpoint
from segmend.loading.metadata import look_at_metadata
from segmend.loading.prelude import Options, Prelude
from segmend.loading.reads import Budget
from segmend.loading.replicas import Loaded, load_directory
from segmend.loading.values import HARMLESS, Effect
from segmend.logdir.tree import PartitionDir
from segmend.node.broker_dirs import BrokerDirs

from . import effect_words as words
from .levels import Level
from .registry import known_codes

# Directories that are remembered; findings come directory by directory.
_KEPT = 4
# What is read of one directory to see what consumers will meet in it.
_READ_SEGMENTS, _READ_BYTES = 2_000, 256 << 20

_CHECKPOINTS: Final = frozenset({RECOVERY_POINT, LOG_START_OFFSET, HIGH_WATERMARK, CLEANER_OFFSET})
_SNAPSHOTS: Final = frozenset({"snapshot-deleted", "snapshot-rebuilt"})
_SETTING_ASIDE: Final = frozenset({"stray-renamed", "directory-deleted", "log-recreated-empty"})
_CUTTING: Final = frozenset({"tail-truncated", "segment-emptied"})
_REBUILDING: Final = frozenset({"recovery-scan", "index-rebuilt"})
_UNDER_WAY: Final = (".swap", ".cleaned", ".deleted")


class BrokerEffects:
    """Asked for each finding of one broker, in the order in which they turn up."""

    def __init__(self, broker: BrokerDirs, level: Level) -> None:
        self._level = level
        self._broker = broker
        self._prelude = Prelude(broker, Options(), self._budget())
        self._loaded: OrderedDict[tuple[str, str], Loaded] = OrderedDict()

    def explained(self, finding: Finding) -> Finding:
        """The finding with its `broker_effect`; no severity is below what the start would lose."""
        effect = self.of(finding)
        return replace(finding, broker_effect=effect, severity=_weighed(finding, effect))

    def of(self, finding: Finding) -> BrokerEffect:
        """What the start does about this very fault."""
        state = self._states.get(finding.dir)
        if state is None:
            return _manual(finding)
        partition = self._directories(finding.dir).get((finding.file or "").partition("/")[0])
        if partition is None:
            return self._of_dir(finding, state)
        if partition.kind == "cluster-metadata":
            return self._of_metadata(finding, state, partition)
        return self._of_partition(finding, state, partition)

    @functools.cached_property
    def _states(self) -> dict[str, DirState]:
        return {state.path: state for state in self._prelude.states}

    @functools.cached_property
    def _by_name(self) -> dict[str, dict[str, PartitionDir]]:
        return {}

    def _directories(self, path: str) -> dict[str, PartitionDir]:
        if path not in self._by_name:
            log_dir = self._states[path].log_dir
            self._by_name[path] = {partition.name: partition for partition in log_dir.partitions}
        return self._by_name[path]

    def _budget(self) -> Budget:
        """A start-up check promises not to read what a start does not read."""
        if self._level == Level.STARTUP:
            return Budget(segments=0)
        return Budget(segments=_READ_SEGMENTS, bytes=_READ_BYTES)

    def _of_dir(self, finding: Finding, state: DirState) -> BrokerEffect:
        """A fault at the top of a log dir."""
        name = finding.file or ""
        if name in state.log_dir.foreign:
            return words.refusal(
                NOT_A_PARTITION.of(self._broker.release).format(f"{state.path}/{name}", name)
            )
        if name == meta_properties.FILE_NAME:
            return self._of_identity(finding, state)
        return self._of_checkpoint(finding, state) if name in _CHECKPOINTS else _manual(finding)

    def _of_identity(self, finding: Finding, state: DirState) -> BrokerEffect:
        verdict = self._prelude.verdict
        if verdict.refusal is not None:
            return words.refusal(verdict.refusal)
        reason = verdict.offline.get(state.path)
        return self._offline(state, reason) if reason else _nothing(finding)

    def _of_checkpoint(self, finding: Finding, state: DirState) -> BrokerEffect:
        alone = DirState(log_dir=state.log_dir, clean=state.clean)
        read_checkpoint(alone, finding.file or "", self._broker.release)
        if alone.fatal:
            return words.refusal(alone.fatal)
        if alone.doubtful and (dying := self._dying(state)):
            return words.refusal(dying)
        if alone.offline:
            return self._offline(state, alone.offline)
        return words.told(alone.effects) if alone.effects else _nothing(finding)

    def _dying(self, state: DirState) -> str | None:
        """Why a broker dies that loads an open transaction in a dir that is marked offline already."""
        for partition in state.log_dir.partitions:
            loaded = None if partition.kind == "cluster-metadata" else self._load(state, partition)
            if loaded is not None and loaded.open_transactions:
                why = f"it counts as offline, and the open transaction of {partition.name} needs a snapshot"
                return f"{DIR_FAILED.format(state.path)}: {why}"
        return None

    def _offline(self, state: DirState, reason: str) -> BrokerEffect:
        """The dir does not serve; without it the broker may have nothing to live on."""
        if self._broker.kraft and state.log_dir.cluster_metadata is not None:
            return words.refusal(METADATA_DIR_FAILED.format(state.path, reason))
        others = [each for each in self._states.values() if each is not state]
        if all(each.offline for each in others):
            return words.refusal(f"{ALL_DIRS_FAILED.format(', '.join(self._states))}: {reason}")
        return words.offline(reason)

    def _of_metadata(self, finding: Finding, state: DirState, partition: PartitionDir) -> BrokerEffect:
        """A fault in the metadata log, which is read whole at every start."""
        if not self._broker.kraft:
            return _manual(finding)
        home = self._broker.metadata_dir
        if state.log_dir is not home and finding.file == partition.name:
            where = home.path if home else "..."
            return words.refusal(UNEXPECTED_METADATA.format(partition.path, where))
        outcome, _, refusal = look_at_metadata(partition.afresh(), self._broker.release)
        if refusal is not None:
            return words.refusal(refusal)
        mine = _about(finding, outcome.effects, partition)
        return words.told(mine) if mine else _manual(finding)

    def _of_partition(self, finding: Finding, state: DirState, partition: PartitionDir) -> BrokerEffect:
        loaded = self._load(state, partition)
        if loaded.failure is not None:
            return self._of_failure(finding, state, partition, loaded.failure)
        twin = self._twin(state, partition, loaded)
        if twin is not None and finding.file == partition.name:
            return words.refusal(twin)
        mine = _about(finding, loaded.outcome.effects, partition)
        if not mine:
            return _nothing(finding)
        told = words.told(mine)
        if (
            finding.severity == Severity.ERROR
            and not any(effect.loses for effect in mine)
            and not _mended(finding, told)
        ):
            return replace(told, text=f"{told.text}. In general: {_line(finding.code)}")
        return told

    def _of_failure(
        self, finding: Finding, state: DirState, partition: PartitionDir, failure: LoadFailure
    ) -> BrokerEffect:
        if not _concerns(finding, failure.file, partition):
            return BrokerEffect(text=f"does not get so far: {failure}", effect=words.NONE)
        if failure.fate == Fate.BROKER:
            return words.refusal(str(failure))
        return self._offline(state, f"{DIR_FAILED.format(state.path)}: {failure}")

    def _twin(self, state: DirState, partition: PartitionDir, loaded: Loaded) -> str | None:
        """Kafka's words if another directory is the same replica."""
        for path, name in self._replicas[partition.kind, partition.topic, partition.partition]:
            if loaded.key is None or (path, name) == (state.path, partition.name):
                continue
            found = self._load(self._states[path], self._directories(path)[name])
            if found.key == loaded.key:
                name = f"{partition.topic}-{partition.partition}"
                return DUPLICATE.of(self._broker.release).format(name, found.path, loaded.path)
        return None

    @functools.cached_property
    def _replicas(self) -> dict[tuple[str, str, int], list[tuple[str, str]]]:
        found: dict[tuple[str, str, int], list[tuple[str, str]]] = {}
        for path in self._states:
            for each in self._directories(path).values():
                found.setdefault((each.kind, each.topic, each.partition), []).append((path, each.name))
        return found

    def _load(self, state: DirState, partition: PartitionDir) -> Loaded:
        key = state.path, partition.name
        if key not in self._loaded:
            situation = replace(self._prelude.situation(), budget=self._budget())
            scratch = DirState(log_dir=state.log_dir, clean=state.clean, offsets=state.offsets)
            self._loaded[key] = load_directory(scratch, partition.afresh(), situation)
            if len(self._loaded) > _KEPT:
                self._loaded.popitem(last=False)
        return self._loaded[key]


def _line(code: str) -> str:
    return known_codes()[code].broker_line


def _manual(finding: Finding) -> BrokerEffect:
    return BrokerEffect(text=_line(finding.code), basis=Basis.MANUAL)


def _nothing(finding: Finding) -> BrokerEffect:
    return words.nothing(known_codes()[finding.code])


def _weighed(finding: Finding, effect: BrokerEffect) -> Severity:
    """A start that is refused is an error, lost records are no mere note, a mended index is one."""
    if effect.effect in (words.REFUSES, words.OFFLINE):
        return Severity.ERROR
    if effect.records_lost and finding.severity == Severity.INFO:
        return Severity.WARNING
    if finding.severity == Severity.ERROR and _survived(finding, effect):
        return Severity.WARNING
    return Severity.INFO if _mended(finding, effect) else finding.severity


def _survived(finding: Finding, effect: BrokerEffect) -> bool:
    """Whether a fault of which other releases die does nothing to this one."""
    harmless = effect.effect == words.NONE or effect.effect in HARMLESS
    return known_codes()[finding.code].code.fatal and harmless and effect.basis == Basis.FORECAST


def _mended(finding: Finding, effect: BrokerEffect) -> bool:
    """Whether an index is wrong that this start makes anew from its log, without a loss."""
    index = (finding.file or "").endswith((".index", ".timeindex", ".txnindex"))
    return (
        index
        and finding.severity == Severity.ERROR
        and effect.effect in _REBUILDING
        and not effect.records_lost
    )


def _base(file: str) -> int | None:
    return parse_file_name(file.rpartition("/")[2]).base_offset


def _concerns(finding: Finding, file: str | None, partition: PartitionDir) -> bool:
    """Whether what ends the load at `file` is what the finding is about."""
    if file is None or finding.file in (None, partition.name):
        return True
    name, mine = file.rpartition("/")[2], (finding.file or "").rpartition("/")[2]
    if name in (mine, partition.name):
        return True
    base = _base(mine)
    return base is not None and base == _base(name)


def _about(finding: Finding, effects: Sequence[Effect], partition: PartitionDir) -> list[Effect]:
    """The effects that belong to the finding."""
    file = finding.file or ""
    if file == partition.name:
        return [e for e in effects if e.effect != "reads-fail" and e.loses]
    belongs = _rule(file)
    mine = [effect for effect in effects if effect.file == file or belongs(effect)]
    exact = [e for e in mine if e.effect == "reads-fail" and e.offset == finding.offset]
    if finding.offset is not None and exact:
        mine = [e for e in mine if e.effect != "reads-fail" or e in exact]
    if any(effect.effect in _CUTTING for effect in mine):
        mine += [e for e in effects if e.effect == "segments-deleted" and e not in mine]
    return mine


def _rule(file: str) -> Callable[[Effect], bool]:
    """What belongs to a fault in `file` besides the effects on the very file."""
    name, base = file.rpartition("/")[2], _base(file)
    if name == partition_metadata.FILE_NAME:
        return lambda effect: effect.effect in _SETTING_ASIDE
    under_way = next((suffix for suffix in _UNDER_WAY if name.endswith(suffix)), None)
    if under_way is not None:
        return lambda effect: effect.records_lost > 0 or (effect.file or "").endswith(under_way)
    if name.endswith(".snapshot"):
        return lambda effect: effect.effect == "snapshot-rebuilt"
    if base is None:
        return lambda _effect: False

    def same_segment(effect: Effect) -> bool:
        if effect.effect in _SNAPSHOTS or effect.effect == "reads-fail":
            return False
        return _base(effect.file or "") == base

    return same_segment
