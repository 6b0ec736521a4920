"""Whose state a partition of an internal topic loses, for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from segmend.loading.values import Concerned
from segmend.report import text
from segmend.report.style import PLAIN, Style

_NAMES = 8
"""Of groups or transactional ids that are told one by one."""


def concerned_lines(
    whose: Concerned, style: Style = PLAIN, *, fails: bool = False, copy: bool = False
) -> Iterator[str]:
    """Whose state it is that goes, and whose may; `fails`: a read of it does, `copy`: of one of several."""
    what = whose.what
    if whose.gone:
        yield f"  {style('red', 'gone from it' if copy else 'lost')} is state of {what} {_few(whose.gone)}"
    if whose.stays:
        yield f"  it still has state of {what} {_few(whose.stays)}; newer state of them may be lost"
    if not (whose.gone or whose.stays):
        yield f"  no {what} can be read of it"
    if fails:
        yield f"  its coordinator reads it whole; if it fails there, its {what} get errors, or start anew"
    if not whose.whole:
        yield f"  not all of it was read: more {what} may be concerned"


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMES} more (--json)" if len(names) > _NAMES else ""
    return f"{', '.join(map(text.clean, names[:_NAMES]))}{more}"
