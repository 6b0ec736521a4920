"""The first three passes over a partition's names: what is deleted and renamed before any log is opened.

Follows `LogLoader.removeTempFilesAndCollectSwapFiles` and the swap passes of `LogLoader.load`;
what releases up to 2.8 did is in `segmend.loading.old_swaps`.
"""

from __future__ import annotations

from segmend.broker.failures import NOT_READABLE, io_failure
from segmend.broker.recovery import COMPACTED, FROM_SWAP, SWAP, SwapHandling
from segmend.formats.java_number import parse_long
from segmend.formats.names import file_prefix, parse_file_name
from segmend.loading.old_swaps import collect
from segmend.loading.segment import Lost, Segment, end_of, lost_from, offset_of, replaced, segment_of
from segmend.loading.state import LoadState
from segmend.loading.usable import check_gone

_NEVER = 2**63


def pass_leftovers(state: LoadState) -> None:
    """Change `state.names`; raises `LoadFailure` on a name or file that ends the load."""
    _check_readable(state)
    layout = state.partition.layout
    if not (layout.deleted or layout.cleaned or layout.swap or layout.unparsable):
        return
    for name in layout.deleted:
        _delete(state, name)
    if SWAP.of(state.settings.release) == SwapHandling.RECOVER:
        collect(state)
        return
    cleaned = min((offset_of(name) for name in state.ending(".cleaned")), default=_NEVER)
    swaps = {name: offset_of(name) for name in state.ending(".swap")}
    for name, offset in sorted(swaps.items()):
        if offset >= cleaned:
            _delete(state, name, _records_of(state, name))
    for name in state.ending(".cleaned"):
        _delete(state, name)
    _complete_swaps(state)


def _check_readable(state: LoadState) -> None:
    name = state.held_back.unreadable
    if name is not None:
        raise io_failure(state.settings.release, NOT_READABLE.format(state.path(name)), state.path(name))


def _delete(state: LoadState, name: str, lost: Lost | None = None) -> None:
    check_gone(state, name)
    del state.names[name]
    if parse_file_name(name).kind != "kraft-snapshot":
        state.note("file-deleted", name, lost=lost)


def _records_of(state: LoadState, name: str) -> Lost | None:
    """What goes with a doomed swap log whose originals are gone already."""
    original = name.removesuffix(".swap")
    if not original.endswith(".log") or original in state.names:
        return None
    return lost_from(segment_of(state.file(name), offset_of(name)), 0)


def _complete_swaps(state: LoadState) -> None:
    names, release = state.ending(".swap"), state.settings.release
    swaps = {name: _opened(state, name) for name in names if name.endswith(".log.swap")}
    in_order = sorted(swaps.values(), key=lambda each: each.base_offset)
    high = max((end_of(each, release).next_offset for each in in_order), default=-_NEVER)
    lost = _lost(state, in_order, high)
    for name in names:
        if name in swaps:
            base, says = swaps[name].base_offset, FROM_SWAP.say(release, state.path(name))
            state.note("swap-completed", name, offset=base, says=says, lost=lost.get(base))
        elif f"{name.partition('.')[0]}.log.swap" not in state.names:  # it takes the place of a sound one
            state.note("swap-completed", name, offset=offset_of(name))
    _delete_covered(state, range(in_order[0].base_offset, high) if swaps else range(0), lost)
    for name in state.ending(".swap"):
        state.names[name.removesuffix(".swap")] = state.names.pop(name)
    _create_indexes(state, [each.base_offset for each in in_order])


def _opened(state: LoadState, name: str) -> Segment:
    base = offset_of(name)
    return segment_of(state.swap_log(base), base, state.file(f"{file_prefix(base)}.index.swap"))


def _lost(state: LoadState, swaps: list[Segment], high: int) -> dict[int, Lost]:
    """What goes with the segments that swaps replace, by the numbers in their names."""
    logs = {base: name for name in state.ending(".log") if (base := parse_long(name[:-4])) is not None}
    originals = [segment_of(state.file(name), base) for base, name in sorted(logs.items())]
    names = {each.name for each in swaps}
    low = min((each.base_offset for each in swaps), default=high)
    gone = [each for each in originals if low <= each.base_offset < high or each.name in names]
    return replaced(swaps, originals, gone) if gone else {}


def _create_indexes(state: LoadState, bases: list[int]) -> None:
    """A swap log was opened to ask for its end, which creates its index, of nothing but zeros."""
    for base in bases:
        name = f"{file_prefix(base)}.index"
        if f"{name}.swap" not in state.names.values():
            state.names[name] = f"{name}.swap"
            state.note("index-created", name, offset=base)


def _delete_covered(state: LoadState, covered: range, lost: dict[int, Lost]) -> None:
    """Delete what a swap replaces."""
    for name in sorted(state.names):
        base = parse_long(name.partition(".")[0]) if "." in name else None
        if name.endswith(".swap") or base is None or base not in covered:
            continue
        del state.names[name]
        says = COMPACTED.say(state.settings.release, state.path(name))
        if f"{name}.swap" in state.names:
            continue
        if name.endswith(".log") and base in lost:
            state.note("segments-deleted", name, offset=base, says=says, lost=lost[base])
        else:
            state.note("file-deleted", name, offset=base, says=says)
