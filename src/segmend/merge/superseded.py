"""Records of a less compacted replica that fill a damaged place of one that was cleaned further.

The cleaner had removed each record there whose key came again below its bound; brought back, a deleted key
would live again. So only those are taken that nobody has a later record for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from segmend.merge.agreement import Look
from segmend.merge.spans import Span, common

STEP: Final = 1 << 20
"""So many offsets of a filling are held at a time, one key each."""


def superseded(
    look: Look, replica: int, filling: Span, bound: int, covers: Sequence[Sequence[Span]]
) -> tuple[int, ...]:
    """The offsets of the filling to leave out; `covers` is what each replica has on the branch."""
    found: list[int] = []
    first, last = filling
    for begin in range(first, last + 1, STEP):
        held: dict[bytes, list[int]] = {}
        for offset, key in look.keys(replica, begin, min(begin + STEP - 1, last)):
            if key is not None:
                held.setdefault(key, []).append(offset)
        for number, cover in enumerate(covers):
            for span in common([(begin, bound - 1)], cover) if held else ():
                found += _passed(look, number, span, held)
    return tuple(sorted(found))


def _passed(look: Look, number: int, span: Span, held: dict[bytes, list[int]]) -> list[int]:
    """What is held and comes again in `span`; it is held no longer."""
    found: list[int] = []
    for offset, key in look.keys(number, *span):
        earlier = held.get(key) if key is not None else None
        if earlier and earlier[0] < offset:
            found += [each for each in earlier if each < offset]
            earlier[:] = [each for each in earlier if each >= offset]
    return found
