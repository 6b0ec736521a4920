"""What the next start does about each finding: its directory is played, and the effects matched to it.

Not a check. A finding is matched by file, then by segment, then by offset; where the start has
nothing about a fault, its page in the manual speaks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from segmend.broker.failures import DIR_FAILED, NOT_A_PARTITION, Fate, LoadFailure
from segmend.checks.registry import known_codes
from segmend.findings import Basis, BrokerEffect, Finding, Severity
from segmend.formats import meta_properties, partition_metadata
from segmend.formats.names import BOOTSTRAP_CHECKPOINT, CLUSTER_METADATA, INDEX_SUFFIXES, parse_file_name
from segmend.formats.offset_checkpoint import CLEANER_OFFSET, HIGH_WATERMARK, LOG_START_OFFSET, RECOVERY_POINT
from segmend.frozen import replace
from segmend.loading.dirs import DirState
from segmend.loading.metadata_log import look_at_home
from segmend.loading.start import Start
from segmend.loading.values import Effect
from segmend.logdir.log_dir import LOCK
from segmend.logdir.partition_dir import PartitionDir

from . import words

_CHECKPOINTS: Final = frozenset({RECOVERY_POINT, LOG_START_OFFSET, HIGH_WATERMARK, CLEANER_OFFSET})
_SNAPSHOTS: Final = frozenset({"snapshot-deleted", "snapshot-rebuilt"})
_SETTING_ASIDE: Final = frozenset(
    {"stray-renamed", "directory-deleted", "log-recreated-empty", "partition-unserved"}
)
CUTTING: Final = frozenset({"tail-truncated", "segment-emptied"})
REBUILDING: Final = frozenset({"recovery-scan", "index-rebuilt"})
_SNAPSHOT: Final = ".checkpoint"
_UNDER_WAY: Final = (".swap", ".cleaned", ".deleted")


def effect_of(finding: Finding, start: Start) -> BrokerEffect:
    """What the start does about this very fault."""
    state = start.states.get(finding.dir)
    if state is None or known_codes()[finding.code].code.unplayed:
        return _manual(finding)
    partition = state.log_dir.partition(finding.folder)
    behind = partition is not None or finding.folder in _CHECKPOINTS.union(state.foreign)
    if behind and state.unread and start.identity.refusal is None:
        return words.unreached(state.offline, Basis.MANUAL)
    if partition is None or partition.name in state.foreign:
        gone = partition is None and finding.topic is not None
        return _of_gone(finding, start) if gone else _of_dir(finding, start, state)
    if partition.kind == "cluster-metadata":
        return _of_metadata(finding, start, state, partition)
    return _of_partition(finding, start, state, partition)


def _of_gone(finding: Finding, start: Start) -> BrokerEffect:
    """A partition without a directory: one that the metadata wants here is created, others may be."""
    image, key = start.broker.image, (finding.topic or "", finding.partition or 0)
    if image is None or not image.assigned(*key, start.broker.node_id):
        return _manual(finding)
    return words.told([Effect(effect="log-recreated-empty", file=finding.file, offset=0)])


def is_mended(finding: Finding, effect: BrokerEffect) -> bool:
    """Whether an index is wrong that this start makes anew from its log, without a loss."""
    index = finding.name.endswith(INDEX_SUFFIXES)
    return index and effect.effect in REBUILDING and not effect.records_lost


def _of_dir(finding: Finding, start: Start, state: DirState) -> BrokerEffect:
    name = finding.file or ""
    if name in state.foreign:
        said = NOT_A_PARTITION.of(start.broker.release).format(f"{state.path}/{name}", name)
        return words.refusal(said)
    if name in state.log_dir.foreign:
        return _offline(start, state, state.offline or finding.message)
    if name == meta_properties.FILE_NAME:
        return _of_identity(finding, start, state)
    if name in (BOOTSTRAP_CHECKPOINT, CLUSTER_METADATA):
        return _of_home(finding, start, state)
    if name == LOCK and state.offline:
        return _offline(start, state, state.offline)
    return _of_checkpoint(finding, start, state) if name in _CHECKPOINTS else _manual(finding)


def _of_home(finding: Finding, start: Start, state: DirState) -> BrokerEffect:
    """What is read where the metadata lies, and nowhere else."""
    home = start.broker.metadata_dir if start.broker.kraft else None
    if home is None or home.path != state.path:
        return _nothing(finding)
    why = look_at_home(home, start.broker)
    return words.refusal(why) if why else _manual(finding)


def _of_identity(finding: Finding, start: Start, state: DirState) -> BrokerEffect:
    verdict = start.identity
    if verdict.refusal is not None:
        return words.refusal(verdict.refusal)
    reason = verdict.offline.get(state.path)
    return _offline(start, state, reason) if reason else _nothing(finding)


def _of_checkpoint(finding: Finding, start: Start, state: DirState) -> BrokerEffect:
    alone = start.checkpoint(state, finding.file or "")
    if alone.fatal:
        return words.refusal(alone.fatal)
    if alone.offline:
        return _offline(start, state, alone.offline)
    return words.told(alone.effects) if alone.effects else _nothing(finding)


def _offline(start: Start, state: DirState, reason: str) -> BrokerEffect:
    """The dir does not serve; without it the broker may have nothing to live on."""
    ended = start.without(state, reason)
    return words.offline(reason) if ended is None else words.refusal(ended)


def _of_metadata(finding: Finding, start: Start, state: DirState, partition: PartitionDir) -> BrokerEffect:
    """A fault in the metadata log, which is read whole at every start."""
    if not start.broker.kraft:
        return _manual(finding)
    misplaced = start.misplaced(state, partition) if finding.file == partition.name else None
    if misplaced is not None:
        return words.refusal(misplaced)
    outcome, refusal = start.metadata(state, partition)
    if refusal is not None:
        return words.refusal(refusal)
    mine = _about(finding, outcome.effects, partition)
    if not mine and finding.name.endswith(_SNAPSHOT):
        return _nothing(finding)  # It is not read, or nothing that is needed is missing of it.
    return words.told(mine) if mine else _manual(finding)


def _of_partition(finding: Finding, start: Start, state: DirState, partition: PartitionDir) -> BrokerEffect:
    loaded = start.loaded(state, partition)
    if loaded.failure is not None:
        return _of_failure(finding, start, state, partition, loaded.failure)
    twin = start.twin(state, partition) if finding.file == partition.name else None
    if twin is not None:
        return words.refusal(twin)
    mine = _about(finding, loaded.outcome.effects, partition)
    if not mine:
        return _nothing(finding)
    told = words.told(mine)
    loses = any(effect.loses for effect in mine)
    if finding.severity == Severity.ERROR and not loses and not is_mended(finding, told):
        return replace(told, text=f"{told.text}; at other starts: {_line(finding)}")
    return told


def _of_failure(
    finding: Finding, start: Start, state: DirState, partition: PartitionDir, failure: LoadFailure
) -> BrokerEffect:
    if not _concerns(finding, failure.file, partition):
        return words.unreached(failure, Basis.FORECAST)
    if failure.fate == Fate.BROKER:
        return words.refusal(str(failure))
    return _offline(start, state, f"{DIR_FAILED.format(state.path)}: {failure}")


def _line(finding: Finding) -> str:
    return known_codes()[finding.code].broker_line


def _manual(finding: Finding) -> BrokerEffect:
    return BrokerEffect(text=_line(finding), basis=Basis.MANUAL)


def _nothing(finding: Finding) -> BrokerEffect:
    return words.nothing(known_codes()[finding.code])


def _base(file: str) -> int | None:
    return parse_file_name(file.rpartition("/")[2]).base_offset


def _concerns(finding: Finding, file: str | None, partition: PartitionDir) -> bool:
    """Whether what ends the load at `file` is what the finding is about."""
    if file is None or finding.file in (None, partition.name):
        return True
    name, mine = file.rpartition("/")[2], finding.name
    if name in (mine, partition.name):
        return True
    base = _base(mine)
    return base is not None and base == _base(name)


def _about(finding: Finding, effects: Sequence[Effect], partition: PartitionDir) -> list[Effect]:
    file = finding.file or ""
    if file == partition.name:
        return [e for e in effects if e.effect != "reads-fail" and e.loses]
    in_the_way = finding.name in partition.layout.directories and file.endswith(".snapshot")
    belongs = _before(_base(file), partition) if in_the_way else _rule(file)
    mine = [effect for effect in effects if effect.file == file or belongs(effect)]
    exact = [e for e in mine if e.effect == "reads-fail" and e.offset == finding.offset]
    if finding.offset is not None and exact:
        mine = [e for e in mine if e.effect != "reads-fail" or e in exact]
    if any(effect.effect in CUTTING for effect in mine):
        mine += [e for e in effects if e.effect == "segments-deleted" and e not in mine]
    return mine


def _before(offset: int | None, partition: PartitionDir) -> Callable[[Effect], bool]:
    """What becomes of the segment at whose end no snapshot can be written: since 4.0 it is emptied."""
    base = max((each for each in partition.layout.logs if offset is not None and each < offset), default=None)
    return lambda effect: effect.effect == "segment-emptied" and effect.offset in (base, offset)


def _rule(file: str) -> Callable[[Effect], bool]:
    """What belongs to a fault in `file` besides the effects on the very file."""
    name, base = file.rpartition("/")[2], _base(file)
    if name == partition_metadata.FILE_NAME:
        return lambda effect: effect.effect in _SETTING_ASIDE
    under_way = next((suffix for suffix in _UNDER_WAY if name.endswith(suffix)), None)
    if under_way is not None:
        is_played = under_way != ".deleted"  # what is deleted no longer moves anything else
        return lambda effect: (
            (is_played and effect.records_lost > 0) or (effect.file or "").endswith(under_way)
        )
    if name.endswith(".snapshot"):
        return lambda effect: effect.effect == "snapshot-rebuilt"
    if base is None:
        return lambda _effect: False

    def same_segment(effect: Effect) -> bool:
        if effect.effect in _SNAPSHOTS or effect.effect == "reads-fail":
            return False
        return _base(effect.file or "") == base

    return same_segment
