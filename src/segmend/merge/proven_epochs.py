"""What the epoch of a batch was whose header has one that cannot be: what lies beside proves it.

No checksum covers an epoch, so all else of such a batch is sound. It stays damage of its replica, for the
bytes there are wrong; but its records are had, and where they are written the epoch is put right.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from segmend.merge.packed import Packed
from segmend.merge.values import NO_EPOCH, Damaged, Run

Lines = Sequence[tuple[int, int]]
"""Epochs and where they begin, as leader-epoch-checkpoint has them."""


def proven_epoch(each: Damaged, runs: Packed[Run], lines: Lines) -> int | None:
    """The epoch of the batch that these offsets are of; None where nothing proves it.

    It is that of the runs right before and right behind; or what the checkpoint says, and one of them has.
    """
    first, last = each.first_offset, each.last_offset
    if each.kind != "misplaced" or last is None:
        return None
    at = bisect_left(runs.column("first_offset"), first)
    before = next((run for run in runs[at - 1 : at] if run.last_offset + 1 == first), None)
    behind = next((run for run in runs[at : at + 1] if run.first_offset == last + 1), None)
    epochs = {run.epoch for run in (before, behind) if run is not None}
    if before is not None and behind is not None and len(epochs) == 1:
        return before.epoch
    told = max((epoch for epoch, start in lines if 0 <= start <= first), default=NO_EPOCH)
    # Where nothing follows, a line that begins later says that there was more of the same history.
    sure = behind is not None or (at == len(runs) and any(start > last for _, start in lines))
    return told if sure and told in epochs and epochs <= {epoch for epoch, _ in lines} else None
