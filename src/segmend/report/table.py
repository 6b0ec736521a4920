"""Tables with aligned columns, for rows that may be few or come without end."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice

from segmend.frozen import dataclass
from segmend.report.style import PLAIN, Style

_MEASURED = 256


@dataclass(frozen=True, slots=True)
class Column:
    """A column's title, whether it holds numbers (set to the right), and its style."""

    title: str
    right: bool = False
    style: str | None = None


def columns(*titles: str, **styles: Sequence[str]) -> tuple[Column, ...]:
    """Columns by their titles, those with numbers written `>title`; `dim=(title, ...)` gives some a style."""
    style_of = {title: style for style, styled in styles.items() for title in styled}
    plain = ((title.removeprefix(">"), title.startswith(">")) for title in titles)
    return tuple(Column(title, right, style_of.get(title)) for title, right in plain)


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
    # Millions of rows may come: plain ones are formatted in one go.
    template = "  ".join(f"{{:{'>' if c.right else '<'}{w}}}" for c, w in zip(columns, widths, strict=True))
    for row in chain(first, source):
        if len(row) == 1:
            yield row[0]
        elif not style.color and "".join(row).isascii():
            yield template.format(*row).rstrip()
        else:
            yield _line(columns, row, widths, style)


def _line(
    columns: Sequence[Column], row: Sequence[str], widths: list[int], style: Style, *, title: bool = False
) -> str:
    cells = []
    for column, cell, space in zip(columns, row, widths, strict=True):
        # Padding is by hand where a cell's width is not its length: wide characters, colours.
        pad = " " * (space - (len(cell) if cell.isascii() else width(cell)))
        name = "dim" if title else column.style
        text = style(name, cell) if style.color else cell
        cells.append(pad + text if column.right else text + pad)
    return "  ".join(cells).rstrip()


def width(text: str) -> int:
    """Columns that a terminal gives to `text` (which must be clean)."""
    if text.isascii():
        return len(text)
    return sum(map(_character_width, text))


@lru_cache(maxsize=4096)
def _character_width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
