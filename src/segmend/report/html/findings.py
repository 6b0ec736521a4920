"""The findings, worst first, grouped by code: the first of each as HTML, the others packed.

A report must stay small enough to open from a slow link at night, so the rows printed share
a budget of characters. Every code keeps its first rows before any code gets more. The others travel
compressed, some 30 bytes each: the page's filters and "more" unpack them. What is beyond that is
counted and said.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from markupsafe import escape

from segmend.checks.manual import Consequence, Entry
from segmend.frozen import dataclass, field, frozen, replace
from segmend.wording import plural

from .columns import TableRow, Tables, ToldEffect, broker_name, broker_order, folded, parts
from .consequences import of
from .packing import packed
from .places import Places
from .units import count, shortened

SEVERITIES: Final = ("error", "warning", "info")
BUDGET_CHARACTERS: Final = 850_000
ROWS_PER_CODE: Final = 60
PACKED_ROWS: Final = 50_000
_ROW_OVERHEAD: Final = 1_300
_TEXT_LIMIT: Final = 600
_COMMAND_LIMIT: Final = 4_000
_BROKERS_NAMED: Final = 6
_GROUP: Final = ("code", "cause")
_WHERE: Final = ("broker", "log_dir_id", "topic", "partition", "dir", "file", "position", "offset", "source")
_COLUMNS: Final = (
    "code",
    "severity",
    *_WHERE,
    "message",
    "broker_says",
    "broker_effect",
    "remedy_command",
    "remedy_safety",
    "detail",
)


@frozen
class FindingRow:
    id: int
    code: str
    severity: str
    broker: str
    topic: str
    place: str
    dir: str
    file: str
    facts: tuple[str, ...]
    message: str
    effect: str
    broker_says: str
    command: str
    safety: str
    cause: str

    @property
    def cost(self) -> int:
        """About how many characters of HTML this row becomes."""
        texts = (self.message, self.effect, self.broker_says, self.dir, self.file, self.place, self.topic)
        return _ROW_OVERHEAD + sum(len(escape(t)) for t in texts) + 3 * len(escape(self.command))

    def packed(self, group: FindingGroup) -> list[object]:
        """Its values in the order that 20-filters.js unpacks; what stands above all rows is left out."""
        return [
            *(self.severity, self.broker, self.topic, self.place, self.dir, self.file, self.facts),
            *("" if self.message == group.title else self.message, self.effect),
            *("" if group.broker_says else self.broker_says, self.command, self.safety, self.cause),
        ]


@frozen
class FindingGroup:
    """The findings of one code that nothing explains, or that those of one other code explain.

    `under` is that code, if its group is in the report: then this one stands in it.
    """

    code: str
    severity: str
    title: str
    consequence: str
    brokers: str
    broker_says: str
    manual: tuple[tuple[str, str], ...]
    total: int
    rows: tuple[FindingRow, ...]
    packed: tuple[FindingRow, ...] = ()
    explained: bool = False
    under: str = ""

    @property
    def hidden(self) -> int:
        """How many are not printed."""
        return self.total - len(self.rows)

    @property
    def unreached(self) -> int:
        """How many are only in the findings table."""
        return self.hidden - len(self.packed)


@frozen
class Findings:
    """All of it, with the numbers over the whole table."""

    counts: Mapping[str, int]
    total: int
    shown: int
    groups: tuple[FindingGroup, ...]
    brokers: tuple[str, ...]
    topics: tuple[str, ...]

    def number(self, group: FindingGroup) -> int:
        """By which the page finds the packed rows of one of `groups`."""
        return next(number for number, each in enumerate(self.groups) if each is group)

    def inside(self, code: str = "") -> tuple[FindingGroup, ...]:
        """The groups that stand in the one of that code; those that stand alone without one."""
        return tuple(group for group in self.groups if group.under == code)

    @property
    def codes(self) -> list[str]:
        """Each code once, in the order of its first group."""
        return list(dict.fromkeys(group.code for group in self.groups))

    @property
    def hidden(self) -> int:
        """How many findings are not printed."""
        return self.total - self.shown

    @property
    def unreached(self) -> int:
        """How many are only in the findings table."""
        return sum(group.unreached for group in self.groups)

    def packed(self) -> str:
        """The rows that are not printed, by number of group; empty without any."""
        rows = {n: [row.packed(g) for row in g.packed] for n, g in enumerate(self.groups) if g.packed}
        return packed(rows) if rows else ""

    def facets(self) -> list[list[str]]:
        """What the filters of the page work on: severity, broker, topic, code by row id."""
        ordered = sorted((row for group in self.groups for row in group.rows), key=lambda row: row.id)
        return [[row.severity, row.broker, row.topic, row.code] for row in ordered]


def findings(
    tables: Tables, places: Places, manual: Mapping[str, Entry], budget: int = BUDGET_CHARACTERS
) -> Findings:
    """Groups the `findings` table; `manual` has the pages by code.

    `budget` is about how many characters the printed rows may take.
    """
    tallies = sorted(_tallies(tables, places), key=lambda tally: tally.order)
    heads = {tally.code for tally in tallies if not tally.cause}
    ordered = _first_rows(tables, tallies)
    groups = tuple(
        _group(chosen, tally, group, manual, heads)
        for chosen, tally, group in zip(_within_budget(ordered, budget), tallies, ordered, strict=True)
    )
    groups = tuple(_with_packed(groups, ordered, PACKED_ROWS))
    severities = sum((tally.severities for tally in tallies), Counter[str]())
    return Findings(
        counts={severity: severities[severity] for severity in SEVERITIES},
        total=severities.total(),
        shown=sum(len(group.rows) for group in groups),
        groups=groups,
        brokers=tuple(sorted(set[str]().union(*(tally.brokers for tally in tallies)), key=broker_order)),
        topics=tuple(sorted({row.topic for g in groups for row in (*g.rows, *g.packed) if row.topic})),
    )


@dataclass(slots=True)
class _Tally:
    """All findings of one code that nothing explains, or that one other code explains (`cause`)."""

    code: str
    cause: str
    severities: Counter[str] = field(default_factory=Counter)
    worst: Consequence = Consequence.NONE
    brokers: set[str] = field(default_factory=set)
    said: set[str] = field(default_factory=set)

    @property
    def severity(self) -> str:
        return min(self.severities, key=SEVERITIES.index)

    @property
    def order(self) -> tuple[int, bool, int, int, str]:
        """Errors first; what others explain comes behind them."""
        severity = SEVERITIES.index(self.severity)
        return severity, bool(self.cause), self.worst.rank, -self.severities.total(), self.code


def _tallies(tables: Tables, places: Places) -> Iterable[_Tally]:
    """What is said of each group, from the whole table; of its rows none is kept."""
    tallies: dict[tuple[str, str], _Tally] = {}
    whose = ["broker", "log_dir_id", "severity"]
    for part in parts(tables, "findings", ["code", *whose, "broker_effect", "broker_says", "detail"]):
        named = effects_flat(_with_group(part))
        for row in folded([named], [*_GROUP, *whose, "effect", "lost"], {}).to_pylist():
            row = _known_severity(row)
            tally = tallies.setdefault(_group_of(row), _Tally(code=row["code"], cause=row["cause"]))
            tally.severities[row["severity"]] += row["rows"]
            tally.worst = min(tally.worst, consequence(row, places), key=lambda each: each.rank)
            tally.brokers.add(broker_name(row["broker"]))
        for row in folded([named], [*_GROUP, "broker_says"], {}).to_pylist():
            if len(said := tallies[_group_of(row)].said) < 2:
                said.add(row["broker_says"] or "")
    return tallies.values()


def _group_of(row: TableRow) -> tuple[str, str]:
    return row["code"], row["cause"]


def _with_group(table: pa.Table) -> pa.Table:
    """The code, and the code of what explains it, in the place of `detail`."""
    told = table["detail"].combine_chunks()
    causes = pa.nulls(len(told), pa.string())
    if pa.types.is_map(told.type):
        causes = pc.map_lookup(told, pa.scalar("cause", told.type.key_type), "first").cast(pa.string())
    coded = causes.dictionary_encode()
    words = pa.array(
        [_explained(text).partition(" ")[0] for text in coded.dictionary.to_pylist()], pa.string()
    )
    code = pc.fill_null(table["code"].cast(pa.string()), "?")
    table = table.set_column(table.column_names.index("code"), "code", code)
    return table.append_column("cause", pc.fill_null(words.take(coded.indices), ""))


def _first_rows(tables: Tables, tallies: Sequence[_Tally]) -> list[list[TableRow]]:
    """Of each group as many rows as the page may print and carry."""
    by_tally: list[list[TableRow]] = [[] for _ in tallies]
    wanted, left = {}, PACKED_ROWS
    for number, tally in enumerate(tallies):
        total = tally.severities.total()
        wanted[tally.code, tally.cause] = number, min(total, ROWS_PER_CODE + left)
        left -= min(max(total - ROWS_PER_CODE, 0), left)
    for part in parts(tables, "findings", _COLUMNS):
        named = _with_group(part)
        for group, rows in _rows_by_group(named).items():
            number, most = wanted[group]
            some = named.take(rows[: most - len(by_tally[number])])
            by_tally[number].extend(map(_known_severity, some.to_pylist()))
    return by_tally


def _rows_by_group(table: pa.Table) -> dict[tuple[str, str], pa.Array]:
    """The numbers of the rows of each group, in their order."""
    numbered = table.select(_GROUP).append_column("row", pa.array(range(table.num_rows), pa.int64()))
    grouped = numbered.group_by(list(_GROUP), use_threads=False).aggregate([("row", "list")])
    lists = grouped["row_list"].combine_chunks()
    return {_group_of(row): lists[n].values for n, row in enumerate(grouped.select(_GROUP).to_pylist())}


def _known_severity(row: TableRow) -> TableRow:
    return row if row["severity"] in SEVERITIES else {**row, "severity": "info"}


def consequence(row: TableRow, places: Places) -> Consequence:
    """What starting the broker would do about this finding, on its own log dir."""
    clean = places.clean(broker_name(row["broker"]), row["log_dir_id"])
    effect = _effect(row)
    return of(
        row["code"] or "?",
        row["severity"] or "info",
        clean=clean,
        effect=effect.get("effect"),
        records_lost=effect.get("records_lost") or 0,
    )


def effects_flat(table: pa.Table) -> pa.Table:
    """`broker_effect` as the two columns that `consequence` looks at, to group by; null without one."""
    told = table["broker_effect"].combine_chunks()
    effect, lost = pa.nulls(len(told), pa.string()), pa.nulls(len(told), pa.bool_())
    if pa.types.is_struct(told.type):
        effect = pc.struct_field(told, "effect")
        lost = pc.greater(pc.struct_field(told, "records_lost"), 0)
    return table.drop_columns(["broker_effect"]).append_column("effect", effect).append_column("lost", lost)


def _effect(row: TableRow) -> ToldEffect:
    if "effect" in row:
        return {"effect": row["effect"], "records_lost": int(row["lost"] or 0)}
    return row["broker_effect"] or {}


def _within_budget(groups: list[list[TableRow]], left: int) -> list[list[FindingRow]]:
    """Rounds over the groups, one row each, until the budget or the rows are used up."""
    chosen: list[list[FindingRow]] = [[] for _ in groups]
    number = 0
    for turn in range(ROWS_PER_CODE):
        for group, mine in zip(groups, chosen, strict=True):
            if turn >= len(group):
                continue
            row = _row(number, group[turn])
            left -= row.cost
            if left < 0:
                return chosen
            mine.append(row)
            number += 1
    return chosen


def _with_packed(
    groups: Sequence[FindingGroup], ordered: Sequence[list[TableRow]], left: int
) -> Iterator[FindingGroup]:
    """With the rows behind the printed ones, `left` in all."""
    for group, rows in zip(groups, ordered, strict=True):
        first = len(group.rows)
        packed = tuple(_row(-1, row) for row in rows[first : first + left])
        left -= len(packed)
        yield replace(group, packed=packed)


def _row(number: int, row: TableRow) -> FindingRow:
    topic, partition, cause = row["topic"] or "", row["partition"], _cause(row)
    place = f"{topic}-{partition}" if topic and partition is not None else topic
    return FindingRow(
        id=number,
        code=row["code"] or "?",
        severity=row["severity"],
        broker=broker_name(row["broker"]),
        topic=topic,
        place=place,
        dir=shown_dir(row["dir"] or ""),
        file=shortened(_file(row["file"] or "", place), 320),
        facts=tuple(_facts(row)),
        message=shortened(row["message"] or "", _TEXT_LIMIT),
        effect=shortened(_effect(row).get("text") or "", _TEXT_LIMIT),
        broker_says=shortened(row["broker_says"] or "", _TEXT_LIMIT),
        command="" if cause else _whole(row["remedy_command"] or ""),
        safety=row["remedy_safety"] or "",
        cause=cause,
    )


def shown_dir(path: str) -> str:
    """A log dir as each finding in it names it, and as links to them do."""
    return shortened(path, 160)


def _cause(row: TableRow) -> str:
    """The finding that explains this one, as its code and file; empty where none does."""
    return _explained(dict(row["detail"] or ()).get("cause"))


def _explained(told: str | None) -> str:
    cause = json.loads(told) if told else {}
    return " ".join(filter(None, [cause.get("code"), shortened(cause.get("file") or "", 160)]))


def _file(file: str, place: str) -> str:
    """The file inside its partition: the partition's own name stands above it already."""
    return "" if file == place else file.removeprefix(f"{place}/")


def _whole(command: str) -> str:
    # Half a command is worse than none: it would be pasted.
    return command if len(command) <= _COMMAND_LIMIT else ""


def _facts(row: TableRow) -> Iterable[str]:
    if row["position"] is not None:
        yield f"byte {count(row['position'])}"
    if row["offset"] is not None:
        yield f"offset {count(row['offset'])}"
    if row["source"] == "join":
        yield "seen by comparing replicas"


def _group(
    chosen: list[FindingRow],
    tally: _Tally,
    group: list[TableRow],
    manual: Mapping[str, Entry],
    heads: set[str],
) -> FindingGroup:
    cause, said, worst, entry = tally.cause, tally.said, tally.worst, manual.get(tally.code)
    return FindingGroup(
        code=tally.code,
        severity=tally.severity,
        title=_title(entry.code.title) if entry else shortened(group[0]["message"] or "", 140),
        manual=_sections(entry) if entry else (),
        consequence="" if worst is Consequence.NONE else worst.value,
        brokers=_named(sorted(tally.brokers, key=broker_order)),
        broker_says=shortened(min(said), _TEXT_LIMIT) if len(said) == 1 else "",
        total=tally.severities.total(),
        rows=tuple(chosen),
        explained=bool(cause),
        under=cause if cause in heads else "",
    )


def _sections(entry: Entry) -> tuple[tuple[str, str], ...]:
    """What stands behind the headline: all but the classes of Kafka."""
    return tuple((heading, text) for heading, text in entry.page.sections().items() if heading != "Kafka")


def _title(line: str) -> str:
    """A code's one line; it begins as a sentence, unless with a file's or field's name."""
    first = line.partition(" ")[0]
    return line[:1].upper() + line[1:] if first.isalpha() and first.islower() else line


def _named(brokers: list[str]) -> str:
    if len(brokers) > _BROKERS_NAMED:
        return plural(len(brokers), "broker")
    return ("broker " if len(brokers) == 1 else "brokers ") + ", ".join(brokers)
