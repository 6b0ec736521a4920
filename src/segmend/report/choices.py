"""What each choice of a merge leaves out, as a table that a person reads before saying yes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from segmend.report import text
from segmend.report.table import Column, table

CHOICES: Final = "merge"
"""In `extra` of a plan: what has `choices`."""
_COLUMNS: Final = (
    Column("branch"),
    Column("ends at", right=True),
    Column("leaves out"),
    Column("records", right=True),
    Column("epoch", right=True),
    Column("of"),
    Column("written"),
    Column("producers"),
)
_CALENDAR: Final = (-62_135_596_800_000, 253_402_300_799_999)


def choice_lines(said: object) -> Iterator[str]:
    """A table for each merge in a plan, where there is a choice; anything else says nothing."""
    for each in said if isinstance(said, list) else [said]:
        choices = each.get("choices") if isinstance(each, dict) else None
        rows = [one for one in choices if isinstance(one, dict)] if isinstance(choices, list) else []
        if any(row.get("lost") for row in rows):
            yield "what each branch leaves out:"
            yield from table(_COLUMNS, [line for row in rows for line in _rows(row)])


def _rows(choice: Mapping[str, Any]) -> Iterator[list[str]]:
    prefer = choice.get("prefer")
    name = "newest" if prefer is None else f"--prefer {prefer}"
    head = [f"{name} (this plan)" if choice.get("chosen") else name, str(choice.get("next_offset"))]
    lost = choice.get("lost")
    for each in (one for one in lost if isinstance(one, dict)) if isinstance(lost, list) else ():
        span = f"{each.get('first_offset')} to {each.get('last_offset')}"
        written = " to ".join(_instant(each.get(name)) for name in ("first_time", "last_time"))
        cells = [
            *head, span, str(each.get("records")), str(each.get("epoch")), _names(each.get("replicas")),
            written, _names(each.get("producers")),
        ]  # fmt: skip
        yield [text.clean(cell) for cell in cells]
        head = ["", ""]
    if head[0]:
        yield [text.clean(cell) for cell in [*head, "nothing", "", "", "", "", ""]]


def _names(values: object) -> str:
    return ", ".join(map(str, values)) if isinstance(values, list) else ""


def _instant(ms: object) -> str:
    if not isinstance(ms, int) or not _CALENDAR[0] <= ms <= _CALENDAR[1]:
        return "?"
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
