"""Tables with aligned columns, for rows that may be few or come without end."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice

from segmend.report.style import PLAIN, Style

_MEASURED = 256


@dataclass(frozen=True, slots=True)
class Column:
    """A column's title, whether it holds numbers (set to the right), and its style."""

    title: str
    right: bool = False
    style: str | None = None


def table(columns: Sequence[Column], rows: Iterable[Sequence[str]], style: Style = PLAIN) -> Iterator[str]:
    """Lines of a table: titles, then rows, two blanks apart.

    Widths are those of the first 256 rows, so any number of rows streams through; a later,
    wider cell pushes its own line only. A row of a single cell is a remark across the table.
    """
    source = iter(rows)
    first = list(islice(source, _MEASURED))
    full = [row for row in first if len(row) == len(columns)]
    widths = [
        max(width(column.title), max((width(row[i]) for row in full), default=0))
        for i, column in enumerate(columns)
    ]
    yield _line(columns, [c.title for c in columns], widths, style, title=True)
    for row in chain(first, source):
        yield row[0] if len(row) == 1 else _line(columns, row, widths, style)


def _line(
    columns: Sequence[Column], row: Sequence[str], widths: list[int], style: Style, *, title: bool = False
) -> str:
    last = len(columns) - 1
    cells = []
    for i, (column, cell, space) in enumerate(zip(columns, row, widths, strict=True)):
        pad = " " * (space - width(cell))
        text = style("dim" if title else column.style, cell)
        cells.append(pad + text if column.right else text + ("" if i == last else pad))
    return "  ".join(cells).rstrip()


def width(text: str) -> int:
    """Columns that a terminal gives to `text` (which must be clean)."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    narrow = sum(unicodedata.category(c) in ("Mn", "Me") for c in text)
    return len(text) + wide - narrow
