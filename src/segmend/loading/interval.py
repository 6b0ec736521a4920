"""How many bytes lie between two entries of a partition's indexes: `index.interval.bytes`.

A setting of the topic, which ZooKeeper keeps, not the disk. Where no metadata tells it, the
entries themselves do: two neighbours are always further apart than the interval.
"""

from __future__ import annotations

from itertools import pairwise
from struct import Struct

from segmend.formats.offset_index import ENTRY_SIZE
from segmend.loading.state import LoadState

_ENTRY = Struct(">ii")
_INDEXES, _ENTRIES = 16, 512


def index_interval(state: LoadState) -> int:
    """The interval in bytes: as set, or less where indexes on disk show it; a few of them are read."""
    interval = state.settings.interval
    if state.settings.interval_known:
        return interval
    for name in sorted(each for each in state.names if each.endswith(".index"))[:_INDEXES]:
        gap = _smallest_gap(state, name)
        if gap is not None and 0 < gap <= interval:
            interval = gap - 1
    return interval


def _smallest_gap(state: LoadState, name: str) -> int | None:
    """Bytes of the log between the two closest entries; None where the positions do not ascend."""
    index = state.file(name)
    data = b"" if index is None else index.read(_ENTRIES * ENTRY_SIZE)
    positions = [0]
    for relative, position in _ENTRY.iter_unpack(data[: len(data) // ENTRY_SIZE * ENTRY_SIZE]):
        if relative == position == 0:
            break
        positions.append(position)
    gaps = [after - before for before, after in pairwise(positions)]
    return min(gaps, default=None) if all(gap > 0 for gap in gaps) else None
