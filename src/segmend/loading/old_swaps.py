"""Swap files as brokers up to 2.8 completed them: after all segments are open, by a recovery of each.

Follows `Log.removeTempFilesAndCollectSwapFiles`, `Log.completeSwapOperations` and
`Log.replaceSegments`; `LogLoader` of 3.0 (KAFKA-12520) does it otherwise.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from segmend.broker.failures import fatal
from segmend.broker.recovery import (
    CLEANED_CONDEMNS_SWAP,
    EMPTY_RANGE_HAS_NONE,
    FROM_SWAP,
    SWAP,
    SWAP_INDEX_CONDEMNS_INDEXES,
    SWAP_REPLACES_LOWER_NEIGHBOUR,
    SwapHandling,
)
from segmend.formats.names import INDEX_SUFFIXES, file_prefix
from segmend.loading.recovery import InvalidOffset, Overflow, recover_segment
from segmend.loading.segment import Segment, end_of, lost_from, offset_of, replaced, segment_of
from segmend.loading.state import LoadState


def collect(state: LoadState) -> None:
    """The first pass: temporary files go, and the indexes of each segment that has a `.swap`."""
    cleaned = state.ending(".cleaned")
    for name in state.ending(".swap"):
        plain = name.removesuffix(".swap")
        if plain.endswith(INDEX_SUFFIXES) and not SWAP_INDEX_CONDEMNS_INDEXES.of(state.settings.release):
            _delete(state, name)
        elif plain.endswith((".log", *INDEX_SUFFIXES)):
            _delete_indexes(state, offset_of(name), "")
    if cleaned and CLEANED_CONDEMNS_SWAP.of(state.settings.release):
        lowest = min(offset_of(name) for name in cleaned)
        for name in state.ending(".log.swap"):
            if offset_of(name) >= lowest:
                _delete_indexes(state, offset_of(name), ".swap")
                _condemn(state, name)
    for name in cleaned:
        _delete(state, name)


def complete(state: LoadState) -> None:
    """The third pass: each swap segment is recovered and takes the place of those it covers."""
    if SWAP.of(state.settings.release) != SwapHandling.RECOVER:
        return
    order = state.settings.swap_order
    rank = order.index if order else int
    for name in sorted(state.ending(".log.swap"), key=lambda name: rank(offset_of(name))):
        base = offset_of(name)
        segment = segment_of(state.swap_log(base), base)
        says = FROM_SWAP.say(state.settings.release, state.path(name))
        same = [each for each in state.segments if each.base_offset == base]
        lost = replaced([segment], state.segments, same).get(base)
        state.note("swap-completed", name, offset=base, says=says, lost=lost)
        try:
            recover_segment(state, segment)
        except (InvalidOffset, Overflow) as error:
            raise fatal(type(error).__name__, says, state.path(name)) from error
        _replace(state, segment)
        for kind in (".index", ".timeindex"):
            state.note("index-rebuilt", f"{file_prefix(base)}{kind}", offset=base)
        for kind in (".log", *INDEX_SUFFIXES):
            swap = f"{file_prefix(base)}{kind}.swap"
            if swap in state.names:
                state.names[swap.removesuffix(".swap")] = state.names.pop(swap)


def _replace(state: LoadState, swap: Segment) -> None:
    """`replaceSegments` of what `logSegments(from, to)` gives."""
    end = end_of(swap, state.settings.release).next_offset
    bases = [each.base_offset for each in state.segments]
    at = bisect_right(bases, swap.base_offset)
    first = max(at - 1, 0)
    if at and bases[first] > end:  # without a segment below, all up to the end are taken
        raise fatal("IllegalArgumentException", "inconsistent range", state.path(swap.name))
    if end == swap.base_offset and EMPTY_RANGE_HAS_NONE.of(state.settings.release):
        first = bisect_left(bases, end)  # only one of the same name
    old = [s for s in state.segments[first:] if s.base_offset < end or s.base_offset == swap.base_offset]
    if not SWAP_REPLACES_LOWER_NEIGHBOUR.of(state.settings.release):
        old = [s for s in old if end_of(s, state.settings.release).next_offset > swap.base_offset]
    lost = replaced([swap], state.segments, old)
    state.segments = [each for each in state.segments if each not in old]
    for each in old:
        base = each.base_offset
        if base != swap.base_offset:
            gone = lost_from(each, 0) if base < swap.base_offset else lost.get(base)
            state.note("segments-deleted", each.name, offset=base, lost=gone)
        for kind in (".log", *INDEX_SUFFIXES):
            state.names.pop(f"{file_prefix(each.base_offset)}{kind}", None)
    state.add(swap)


def _delete(state: LoadState, name: str) -> None:
    if state.names.pop(name, None) is not None:
        state.note("file-deleted", name)


def _delete_indexes(state: LoadState, base: int, suffix: str) -> None:
    for kind in INDEX_SUFFIXES:
        _delete(state, f"{file_prefix(base)}{kind}{suffix}")


def _condemn(state: LoadState, name: str) -> None:
    """Delete a swap log; its records go with it where the originals are gone already."""
    log = state.file(name)
    lost = None
    if log is not None and name.removesuffix(".swap") not in state.names:
        lost = lost_from(segment_of(log, offset_of(name)), 0)
    del state.names[name]
    state.note("file-deleted", name, lost=lost)
