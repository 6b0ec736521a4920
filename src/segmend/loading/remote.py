"""Offsets of a log that are in remote storage and not on this disk (KIP-405)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from segmend.broker.remote_storage import FOUND, METADATA_TOPIC, STARTS_AT_KNOWN_EPOCH, RemoteStorage
from segmend.broker.retention import Limits
from segmend.frozen import replace
from segmend.loading.load import LoadedLog
from segmend.loading.segment import Lost
from segmend.loading.values import Extent, PartitionOutcome, Service

_IF_LED = (
    "{}: whether the log start offset moves from {}, to {} at most, once it is led: leader-epoch-checkpoint "
    "names no epoch before, and what remote storage has of none is lost"
)
_NO_LINE = (
    "{}: where between {} and {} it begins once it is led: log-start-offset-checkpoint has no line of it, "
    "and remote storage was not looked at"
)
_NEVER_DELETED = (
    "{}: whether remote storage has the offsets {} to {}: they are not on this disk, where local retention "
    "deletes nothing"
)
_UNTOLD = "what remote storage has of {}: {} tells it, and lacks records"
_ASSUMED = (
    "remote storage is used (remote.log.storage.system.enable=true), and has what is not on this disk of "
    "{}; it was not looked at"
)
_NAMED = 3


def as_led(
    loaded: LoadedLog, after: Extent, limits: Limits, *, alone: bool, begins: int | None
) -> tuple[Extent, str | None]:
    """What is left of the log once it is led, and what is not known of that.

    A leader asks for the remote segments of each epoch that leader-epoch-checkpoint names, from the oldest
    on, and begins with the first it finds, or else on its disk. Of an epoch that begins later than the log
    it may find what lies before. `alone`: nobody else can lead; `begins` is the line of the checkpoint, which
    each such log has that was opened before.
    """
    state, start = loaded.state, after.log_start_offset or 0
    settings, epochs = state.settings, state.epochs.entries
    if settings.remote is not RemoteStorage.USED or not STARTS_AT_KNOWN_EPOCH.of(settings.release):
        return after, None
    first = state.segments[0].base_offset
    moved = min(first, epochs[0][1]) if epochs else first
    if moved <= start:
        return after, _unseen(loaded, first, limits, begins)
    if epochs or not alone:
        return after, _IF_LED.format(state.partition.path, start, moved)
    says = FOUND.format(moved, state.partition.name)
    state.note("log-start-moved", offset=moved, says=says, lost=Lost(records=moved - start))
    return replace(after, log_start_offset=moved), None


def _unseen(loaded: LoadedLog, first: int, limits: Limits, begins: int | None) -> str | None:
    """What hangs on what remote storage has of the offsets before the `first` on this disk."""
    path, start = loaded.state.partition.path, begins or 0
    if first <= start:
        return None
    if begins is None:
        return _NO_LINE.format(path, start, first)
    kept = limits.retention_ms < 0 and limits.retention_bytes < 0
    return _NEVER_DELETED.format(path, start, first - 1) if kept and limits.remote else None


def untold(outcomes: Sequence[PartitionOutcome], remote: Sequence[str]) -> Iterator[str]:
    """What cannot be said of the partitions in `remote`, where the topic that knows is hurt."""
    hurt = [each.name for each in outcomes if each.topic == METADATA_TOPIC and each.matters]
    if hurt and remote:
        yield _UNTOLD.format(_few(remote), _few(hurt))


def assumed(remote: Sequence[str]) -> Iterator[str]:
    """What the forecast takes for granted of the partitions in `remote`."""
    if remote:
        yield _ASSUMED.format(_few(remote))


def begins_there(outcome: PartitionOutcome, loaded: LoadedLog) -> bool:
    """Whether a reader begins before the first segment on this disk."""
    start = outcome.after.log_start_offset
    return outcome.outcome == Service.SERVED and start is not None and start < _first_base(loaded)


def _first_base(loaded: LoadedLog) -> int:
    return loaded.state.segments[0].base_offset if loaded.state.segments else 0


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"{', '.join(names[:_NAMED])}{more}"
