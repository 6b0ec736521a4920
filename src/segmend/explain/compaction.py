"""What the log cleaner would do with each compacted partition: clean it next, or why not.

Follows `LogCleanerManager.grabFilthiestCompactedLog`, `cleanableOffsets` and `LogToClean`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from segmend.broker.retention import Limits, Retained
from segmend.formats.java_number import parse_long
from segmend.formats.offset_checkpoint import CLEANER_OFFSET
from segmend.frozen import frozen
from segmend.loading.dirs import DirState
from segmend.loading.later import retained
from segmend.loading.limits import Setting, policy_of, setting_of
from segmend.loading.load import LoadedLog, load
from segmend.loading.prelude import Options, Prelude
from segmend.loading.reads import Budget
from segmend.loading.replicas import Situation, load_settings
from segmend.logdir.tree import PartitionDir
from segmend.node.broker_dirs import BrokerDirs

HOLDS = {
    "next": "dirty enough: the cleaner takes the dirtiest log first, one a thread",
    "max-lag": "less is dirty than min.cleanable.dirty.ratio asks for, but max.compaction.lag.ms may ask",
    "clean-enough": "less is dirty than min.cleanable.dirty.ratio asks for",
    "nothing-dirty": "nothing lies between the first dirty offset and what may be cleaned",
    "cleaner-off": "log.cleaner.enable is false",
}
"""What becomes of a log, by key."""
BOUNDS = {
    "active": "the active segment, which is never cleaned",
    "transaction": "an open transaction",
    "lag": "a segment younger than min.compaction.lag.ms",
}
"""Where the cleanable part ends."""

_NEVER = str(2**63 - 1)
_SETTINGS = (
    ("min.cleanable.dirty.ratio", "log.cleaner.min.cleanable.ratio", "0.5"),
    ("min.compaction.lag.ms", "log.cleaner.min.compaction.lag.ms", "0"),
    ("max.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms", _NEVER),
    ("delete.retention.ms", "log.cleaner.delete.retention.ms", "86400000"),
)


@frozen
class Compaction:
    """One compacted partition: bytes before the first dirty offset, bytes that may be cleaned now."""

    dir: str
    name: str
    topic: str
    partition: int
    settings: tuple[Setting, ...]
    first_dirty_offset: int = 0
    checkpointed: bool = False
    end_offset: int = 0
    bound: str = "active"
    clean_bytes: int = 0
    dirty_bytes: int = 0
    outcome: str = "nothing-dirty"
    failure: str | None = None

    @property
    def ratio(self) -> float:
        """`LogToClean.cleanableRatio`."""
        total = self.clean_bytes + self.dirty_bytes
        return self.dirty_bytes / total if total else 0.0


def compactions(
    broker: BrokerDirs, options: Options, wanted: Callable[[PartitionDir], bool]
) -> Iterator[Compaction]:
    """The wanted partitions whose cleanup.policy has compact."""
    prelude = Prelude(broker, replace(options, clean=True), Budget())
    situation = prelude.situation()
    for state in prelude.states:
        for partition in state.log_dir.partitions:
            if partition.kind != "current" or not wanted(partition):
                continue
            own = situation.topic(partition.topic)
            policy = policy_of(situation.broker.config, own, partition.topic, situation.dynamic)
            if "compact" in policy.value or (not own and _cleaned_before(state, partition)):
                yield _compaction(state, partition, situation, policy)


def _cleaned_before(state: DirState, partition: PartitionDir) -> bool:
    """Whether the cleaner has been here, for topics whose settings are not on this disk."""
    return state.of(CLEANER_OFFSET, (partition.topic, partition.partition)) is not None


def _compaction(
    state: DirState, partition: PartitionDir, situation: Situation, policy: Setting
) -> Compaction:
    own = situation.topic(partition.topic)
    settings = [setting_of(situation.broker.config, own, situation.dynamic, *each) for each in _SETTINGS]
    found = Compaction(
        dir=state.path, name=partition.name, topic=partition.topic, partition=partition.partition,
        settings=(policy, *settings),
    )  # fmt: skip
    loaded = load(partition.afresh(), load_settings(state, partition, situation))
    after = loaded.after
    if after is None:
        return replace(found, failure=str(loaded.failure))
    limits = Limits(retention_ms=-1, retention_bytes=-1)
    segments = retained(loaded, after, limits, situation.now_ms, every=True, running=True)
    start, end = after.log_start_offset or 0, after.log_end_offset or 0
    stored = state.of(CLEANER_OFFSET, (partition.topic, partition.partition))
    first = stored if stored is not None and start <= stored <= end else start
    stop, bound = _stop(loaded, segments, settings, situation.now_ms)
    dirty = [each for each in segments if first <= each.base_offset < stop]
    found = replace(
        found, first_dirty_offset=first, checkpointed=stored is not None, end_offset=stop, bound=bound,
        clean_bytes=sum(each.size for each in segments if each.base_offset < first),
        dirty_bytes=sum(each.size for each in dirty),
    )  # fmt: skip
    return replace(found, outcome=_outcome(found, situation))


def _stop(
    loaded: LoadedLog, segments: Sequence[Retained], settings: Sequence[Setting], now_ms: int
) -> tuple[int, str]:
    """The first offset that may not be cleaned, and why not that one."""
    found = [(segments[-1].base_offset if segments else 0, "active")]
    open_transactions = [each.current_txn_first_offset for each in loaded.state.states.values()]
    found += [(offset, "transaction") for offset in open_transactions if offset >= 0]
    lag = parse_long(settings[1].value) or 0
    young = [each.base_offset for each in segments if lag > 0 and each.largest_timestamp > now_ms - lag]
    found += [(offset, "lag") for offset in young[:1]]
    return min(found, key=lambda pair: (pair[0], pair[1] == "active"))


def _outcome(found: Compaction, situation: Situation) -> str:
    if not situation.broker.config.cleaner_runs:
        return "cleaner-off"
    if not found.dirty_bytes:
        return "nothing-dirty"
    try:
        ratio = float(found.settings[1].value)
    except ValueError:
        ratio = 0.5
    if found.ratio > ratio:
        return "next"
    return "max-lag" if found.settings[3].value != _NEVER else "clean-enough"
