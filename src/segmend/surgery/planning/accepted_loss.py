"""`--accept-loss 120-records`: a loss is agreed to by its figure, or not at all."""

from __future__ import annotations

import re
from typing import Final

from segmend.errors import UsageError

_ACCEPTED: Final = re.compile(r"(\d{1,18})-records?", re.ASCII)


def records(value: str) -> int:
    """The figure in it; raises `UsageError`."""
    match = _ACCEPTED.fullmatch(value)
    if match is None:
        raise UsageError(f"'{value}' does not say how many records; write 120-records")
    return int(match[1])


def refuse_other_figure(accepted: int | None, total: int) -> None:
    """Raise `UsageError` if another loss was accepted than the one there would be."""
    if accepted and not total:
        raise UsageError(
            f"--accept-loss {accepted}-records: is not needed, no loss is to be accepted; leave it out"
        )
    if accepted is not None and accepted != total:
        raise UsageError(f"--accept-loss {accepted}-records: {total} would be lost; name that figure")
