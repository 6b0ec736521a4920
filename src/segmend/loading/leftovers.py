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
from segmend.loading.segment import Lost, Segment, end_of, lost_from, offset_of
from segmend.loading.state import LoadState
from segmend.logdir.files import FileEntry

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
    del state.names[name]
    if parse_file_name(name).kind != "kraft-snapshot":
        state.note("file-deleted", name, lost=lost)


def _records_of(state: LoadState, name: str) -> Lost | None:
    """What goes with a doomed swap log whose originals are gone already."""
    original = name.removesuffix(".swap")
    if not original.endswith(".log") or original in state.names:
        return None
    return lost_from(_segment(state.file(name), offset_of(name)), 0)


def _segment(log: FileEntry | None, base: int, index: FileEntry | None = None) -> Segment:
    return Segment(base_offset=base, log=log, size=log.size if log else 0, index=index)


def _complete_swaps(state: LoadState) -> None:
    swaps, bases = state.ending(".swap"), list[int]()
    low, high, release = _NEVER, -_NEVER, state.settings.release
    for name in swaps:
        if name.endswith(".log.swap"):
            bases.append(base := offset_of(name))
            index, low = state.file(f"{file_prefix(base)}.index.swap"), min(low, base)
            end = end_of(_segment(state.swap_log(base), base, index), release)
            high = max(high, end.next_offset)
            state.note("swap-completed", name, offset=base, says=FROM_SWAP.say(release, state.path(name)))
        elif f"{name.partition('.')[0]}.log.swap" not in state.names:  # it takes the place of a sound one
            state.note("swap-completed", name, offset=offset_of(name))
    _delete_covered(state, low, high)
    for name in state.ending(".swap"):
        plain = name.removesuffix(".swap")
        original, swap = state.file(plain), state.file(name)
        if plain.endswith(".log") and original is not None and swap is None:
            base = offset_of(plain)
            state.note("segments-deleted", plain, offset=base, lost=lost_from(_segment(original, base), 0))
        state.names[plain] = state.names.pop(name)
    _create_indexes(state, bases)


def _create_indexes(state: LoadState, bases: list[int]) -> None:
    """A swap log was opened to ask for its end, which creates its index, of nothing but zeros."""
    for base in bases:
        name = f"{file_prefix(base)}.index"
        if f"{name}.swap" not in state.names.values():
            state.names[name] = f"{name}.swap"
            state.note("index-created", name, offset=base)


def _delete_covered(state: LoadState, low: int, high: int) -> None:
    """Delete what a swap replaces. The active segment is never compacted: if it goes, it is lost."""
    bases = [parse_long(n.partition(".")[0]) for n in state.names if n.endswith(".log")]
    newest = max((base for base in bases if base is not None), default=None)
    for name in sorted(state.names):
        base = parse_long(name.partition(".")[0]) if "." in name else None
        if name.endswith(".swap") or base is None or not low <= base < high:
            continue
        entry = state.file(name)
        del state.names[name]
        replaced = f"{name}.swap" in state.names
        says = COMPACTED.say(state.settings.release, state.path(name))
        if name.endswith(".log") and base == newest and not replaced and entry:
            lost = lost_from(_segment(entry, base), 0)
            state.note("segments-deleted", name, offset=base, says=says, lost=lost)
        elif not replaced:
            state.note("file-deleted", name, offset=base, says=says)
