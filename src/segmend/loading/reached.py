"""How far a log once went, by what was written of it besides: what is not in its files any more is lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from segmend.formats.offset_checkpoint import HIGH_WATERMARK, RECOVERY_POINT
from segmend.frozen import replace
from segmend.loading.dirs import DirState
from segmend.loading.load import LoadedLog
from segmend.loading.segment import Lost
from segmend.loading.values import Extent
from segmend.logdir.beyond_end import beyond_end
from segmend.logdir.stops import ended_at
from segmend.node.metadata_image import MetadataImage
from segmend.node.older import DOUBTFUL_MARK, mark_is_older

GONE_ON: Final = (
    "{}: whether this is the log that the broker had as it stopped: it ends at offset {}, that one ended at "
    "{} by its recovery point and high watermark; or somebody wrote the clean shutdown marker"
)


def note_short(dir_state: DirState, loaded: LoadedLog, after: Extent, image: MetadataImage | None) -> None:
    """Note of a log that ends before its high watermark what others get the offsets of from now on.

    Its checkpoint tells of records that were acknowledged, unless it is older than the topic; only without a
    line of it all else is asked.
    """
    state, end = loaded.state, after.log_end_offset or 0
    key = state.partition.topic, state.partition.partition
    stored = dir_state.of(HIGH_WATERMARK, key)
    told = [*_told(dir_state, loaded)] if stored is None else [(stored, HIGH_WATERMARK)]
    reached, file = max(told, default=(0, ""))
    if reached <= end or (stored is not None and mark_is_older(state.partition, image) is not False):
        return
    if not dir_state.live:  # that of a running broker is of a topic of this name before
        there = max(loaded.before.log_end_offset or 0, after.log_start_offset or 0, end)
        state.note("high-watermark-reset", offset=end, lost=Lost(records=max(reached - there, 0)))
        state.effects[-1] = replace(state.effects[-1], file=file)


def doubtful_mark(dir_state: DirState, loaded: LoadedLog, image: MetadataImage | None) -> str | None:
    """What is not known where the high watermark may be of a topic of this name before."""
    partition, end = loaded.state.partition, loaded.before.log_end_offset or 0
    mark = dir_state.of(HIGH_WATERMARK, (partition.topic, partition.partition)) or 0
    if dir_state.live or mark <= end or mark_is_older(partition, image) is not None:
        return None
    return DOUBTFUL_MARK.format(partition.path, end, mark - 1)


def cut_short(dir_state: DirState, loaded: LoadedLog, image: MetadataImage | None) -> str | None:
    """What is not known of the end of a log that something goes on behind, unless a clean stop left it so.

    A recovery point, a leader epoch or a producer snapshot is only written of what was in the log, and a
    truncation takes all of them back with it. Indexes tell the same, and are met at each power cut.
    """
    state, end = loaded.state, loaded.before.log_end_offset
    partition, settings = state.partition, state.settings
    last = max(partition.segments, key=lambda each: each.base_offset, default=None)
    stopped_there = (
        settings.clean and dir_state.of(RECOVERY_POINT, (partition.topic, partition.partition)) == end
    )
    if dir_state.live or stopped_there or last is None or last.log is None or end is None:
        return None
    beyond = beyond_end(last, last.log.size, end)
    reached, file = max(_told(dir_state, loaded), default=(0, ""))
    if beyond is not None:
        has = f"{beyond.files[0]} has {beyond.offset}"
    elif reached > end and mark_is_older(partition, image) is False:
        has = f"{file.rpartition('/')[2]} tells of {reached - 1}"
    else:
        return None
    return f"{partition.path}: whether the log went on: it ends at offset {end}, {has}"


def gone_on(dir_state: DirState, loaded: LoadedLog) -> str | None:
    """What is not known of a log that is longer than a broker that stops in order leaves it."""
    key, end = loaded.state.partition.key, loaded.before.log_end_offset or 0
    at = ended_at(dir_state.of(RECOVERY_POINT, key), dir_state.of(HIGH_WATERMARK, key))
    stopped = dir_state.log_dir.is_clean and loaded.state.settings.clean and not dir_state.live
    if at is None or not stopped or end <= at:
        return None
    return GONE_ON.format(loaded.state.partition.path, end, at)


def _told(dir_state: DirState, loaded: LoadedLog) -> Iterator[tuple[int, str]]:
    """Offsets that the log reached, and the file that says so."""
    partition = loaded.state.partition
    yield dir_state.of(RECOVERY_POINT, partition.key) or 0, RECOVERY_POINT
    epochs = partition.leader_epochs
    if epochs.entry is not None and epochs.value is not None and epochs.value.entries and not epochs.damages:
        yield epochs.value.entries[-1].start_offset, loaded.state.path(epochs.entry.name)
    for offset, entry in partition.snapshots[-1:]:
        yield offset, loaded.state.path(entry.name)
