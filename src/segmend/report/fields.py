"""Rows as people and as programs see them: a dict is the JSON object, fields make the table of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from segmend.formats.damage import Damage
from segmend.frozen import dataclass
from segmend.json_values import JsonObject
from segmend.logdir.walk import DamageItem
from segmend.report import text
from segmend.report.style import PLAIN, Style
from segmend.report.table import Column, table
from segmend.wording import plural

Row = JsonObject


def plain(value: object) -> str:
    """Any value of a row in a cell; `-` for None."""
    if type(value) is int:
        return str(value)
    return "-" if value is None else text.clean(str(value))


def short(value: object) -> str:
    """A cell of at most 120 characters, for text that may be of any length."""
    return text.shorten(plain(value), 120)


@dataclass(frozen=True, slots=True)
class ShownField:
    """One column: the key in the row, its title, and how a value becomes a cell."""

    key: str
    title: str
    show: Callable[[Any], str] = plain  # as the column it is for
    right: bool = True
    style: str | None = None


def lines(fields: Sequence[ShownField], rows: Iterable[Row], style: Style = PLAIN) -> Iterator[str]:
    """The table of the rows. Damage and rows with a `remark` become a line across, in place."""
    columns = [Column(field.title, field.right, field.style) for field in fields]
    return table(columns, (_cells(fields, row, style) for row in rows), style)


def _cells(fields: Sequence[ShownField], row: Row, style: Style) -> list[str]:
    if row.get("type") == "damage":
        return [damage_line(row, style)]
    if "remark" in row:
        return [style("dim", f"# {row['remark']}")]
    return [field.show(row[field.key]) for field in fields]


def damage_line(row: Row, style: Style = PLAIN) -> str:
    """`! byte 4096..5000: crc-mismatch: the checksum ...`"""
    end = "" if row.get("end") is None else f"..{row['end']}"
    return style("red", f"! byte {row['position']}{end}: {row['kind']}: {text.clean(str(row['reason']))}")


def damage_row(damage: Damage | DamageItem, end: int | None = None) -> dict[str, object]:
    """The JSON object of what a parser, or a walk through a log, found damaged."""
    return {
        "type": "damage",
        "position": damage.position,
        "end": end,
        "kind": damage.kind,
        "reason": damage.reason,
    }


def preallocated(position: int, entries: int) -> list[dict[str, object]]:
    """The remark on the zeros that fill an active index; none if there are none."""
    if not entries:
        return []
    remark = f"byte {position}: {plural(entries, 'zero entry', 'zero entries')} (preallocated)"
    return [{"type": "preallocated", "position": position, "entries": entries, "remark": remark}]
