"""The fleet at a glance: one row a broker, and the sentence on top of the page."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Final, TypeAlias

from segmend.checks.manual import Consequence
from segmend.frozen import frozen
from segmend.wording import plural

from .columns import TableRow, Tables, broker_id, broker_name, broker_order, folded, number, parts, sums
from .findings import SEVERITIES, consequence, effects_flat, shown_dir
from .places import Places
from .units import percent, share, size

ROWS: Final = 60
GRID_FROM: Final = 10
CELLS: Final = 3000
"""With more log dirs than that the map has only the brokers."""
_DENSE_FROM: Final = 200

_SAYS: Final = (
    (Consequence.LOSES, "would lose data when started"),
    (Consequence.REFUSES, "would refuse to start"),
    (Consequence.OFFLINE, "would take a log dir offline"),
    (Consequence.WRONG, "would start, but serve some reads wrong"),
)


@frozen
class DirCell:
    """A log dir in the map: its worst findings, and how many of them."""

    path: str
    worst: str
    number: int
    tip: str

    @property
    def heat(self) -> int:
        """1 for some, 2 for tens, 3 for hundreds and more."""
        return min(3, len(str(self.number)))


@frozen
class BrokerRow:
    """A broker with the sums over its log dirs."""

    name: str
    release: str
    state: str
    clean: str
    dirs: int
    partitions: int
    segments: int
    log_bytes: int
    width: float
    counts: Mapping[str, int]
    worst: str
    fates: tuple[Consequence, ...]
    cells: tuple[DirCell, ...]

    @property
    def id(self) -> str:
        """Its name where there is no room for its cluster's."""
        return broker_id(self.name)

    @property
    def rank(self) -> int:
        """How bad its worst fate is, 0 the worst."""
        return self.fates[0].rank

    @property
    def consequence(self) -> str:
        """What starting it would do; empty when nothing is wrong."""
        return ", ".join(fate.value for fate in self.fates if fate is not Consequence.NONE)

    @property
    def tip(self) -> str:
        """What the broker's cell in the grid says."""
        lines = (f"broker {self.name} · {self.state}", _counted(self.counts), self.consequence)
        return "\n".join(filter(None, lines))


@frozen
class Fleet:
    """All brokers, and those of them that the table prints."""

    everyone: tuple[BrokerRow, ...]
    rows: tuple[BrokerRow, ...]

    @property
    def hidden(self) -> int:
        """How many the table does not print."""
        return len(self.everyone) - len(self.rows)

    @property
    def grid(self) -> bool:
        """Are there enough brokers for a map of them?"""
        return len(self.everyone) >= GRID_FROM

    @property
    def by_dir(self) -> bool:
        """Is there a cell for each log dir of a broker?"""
        return max((row.dirs for row in self.everyone), default=0) > 1 and self._dirs <= CELLS

    @property
    def dense(self) -> bool:
        """Are they so many that the cells must be small?"""
        return self.by_dir and self._dirs >= _DENSE_FROM

    @property
    def _dirs(self) -> int:
        return sum(row.dirs for row in self.everyone)


@frozen
class Headline:
    """The answer in one glance; `tone` is error, warning, info or ok."""

    tone: str
    headline: str
    more: str


def fleet(tables: Tables, places: Places) -> Fleet:
    """One row a broker, the worst first when they don't all fit."""
    columns = ["broker", "log_dir_id", "code", "severity"]
    by_dir: dict[str, dict[int | None, list[_Found]]] = defaultdict(lambda: defaultdict(list))
    flat = map(effects_flat, parts(tables, "findings", [*columns, "broker_effect"]))
    for row in folded(flat, [*columns, "effect", "lost"], {}).to_pylist():
        severity = row["severity"] if row["severity"] in SEVERITIES else "info"
        mine = by_dir[broker_name(row["broker"])][row["log_dir_id"]]
        mine.append((severity, consequence(row, places), row["rows"]))
    partitions = _sums(tables, "partitions", ["log_bytes"])
    segments = _sums(tables, "segments", ["log_bytes"])
    names = sorted({*places.brokers, *by_dir}, key=broker_order)
    most = max((number(row["log_bytes"]) for row in partitions.values()), default=0)
    everyone = [
        _broker(name, places, by_dir.get(name, {}), partitions.get(name, {}), segments.get(name, {}), most)
        for name in names
    ]
    shown = everyone if len(everyone) < GRID_FROM else sorted(everyone, key=_badness)[:ROWS]
    return Fleet(everyone=tuple(everyone), rows=tuple(shown))


_Found: TypeAlias = tuple[str, Consequence, int]
"""Severity, consequence and number of findings."""


def _sums(tables: Tables, name: str, values: list[str]) -> dict[str, TableRow]:
    return {broker_name(row["broker"]): row for row in sums(tables, name, ["broker"], values)}


def _broker(
    name: str,
    places: Places,
    by_dir: Mapping[int | None, list[_Found]],
    partitions: TableRow,
    segments: TableRow,
    most: int,
) -> BrokerRow:
    dirs = places.by_broker.get(name, ())
    counts = _counts(each for mine in by_dir.values() for each in mine)
    state, clean = _state(dirs)
    return BrokerRow(
        name=name,
        release=", ".join(sorted({row["release"] for row in dirs if row["release"]})),
        state=state,
        clean=clean,
        dirs=len(dirs),
        partitions=number(partitions.get("rows")),
        segments=number(segments.get("rows")),
        log_bytes=number(partitions.get("log_bytes")),
        width=percent(number(partitions.get("log_bytes")), most),
        counts=counts,
        worst=_worst(counts),
        fates=_fates({consequence for mine in by_dir.values() for _, consequence, _ in mine}),
        cells=tuple(_cell(row, by_dir.get(row["log_dir_id"], ())) for row in sorted(dirs, key=_path)),
    )


def _path(row: TableRow) -> str:
    return row["path"] or ""


def _counts(counted: Iterable[_Found]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for severity, _, times in counted:
        counts[severity] += times
    return {severity: counts[severity] for severity in SEVERITIES}


def _worst(counts: Mapping[str, int]) -> str:
    return next((severity for severity in SEVERITIES if counts[severity]), "ok")


def _counted(counts: Mapping[str, int]) -> str:
    told = ", ".join(plural(counts[s], s) for s in ("error", "warning") if counts[s])
    return told or "nothing wrong found"


def _cell(row: TableRow, counted: Iterable[_Found]) -> DirCell:
    counts = _counts(counted)
    worst = _worst(counts)
    path, total, free = row["path"] or "", row["disk_total_bytes"], row["disk_free_bytes"]
    used = f"{share(total - free, total)} of the disk used" if total and free is not None else ""
    lines = (f"broker {broker_name(row['broker'])} · {path}", _counted(counts), used)
    return DirCell(
        path=shown_dir(path), worst=worst, number=counts.get(worst, 0), tip="\n".join(filter(None, lines))
    )


def _fates(consequences: set[Consequence]) -> tuple[Consequence, ...]:
    """The worst one. A broker that refuses to start may also lose data, once it has been made to start."""
    grave = tuple(fate for fate in (Consequence.LOSES, Consequence.REFUSES) if fate in consequences)
    return grave or (min(consequences, key=lambda fate: fate.rank, default=Consequence.NONE),)


def _state(dirs: tuple[TableRow, ...]) -> tuple[str, str]:
    """How the broker left its log dirs, in words and as a CSS class."""
    marks = {bool(row["clean_shutdown"]) for row in dirs}
    if marks == {True}:
        return "stopped cleanly", "clean"
    if marks == {False}:
        return "no clean stop", "killed"
    return ("unknown", "unknown") if not marks else ("clean in part", "killed")


def _badness(row: BrokerRow) -> tuple[int, int, int, tuple[str, int, str]]:
    return -row.counts["error"], row.rank, -row.counts["warning"], broker_order(row.name)


def verdict(everyone: tuple[BrokerRow, ...], counts: Mapping[str, int]) -> Headline:
    """The worst thing first: what would happen to how many brokers."""
    fates = Counter(fate for row in everyone for fate in row.fates)
    said = [(fates[fate], words) for fate, words in _SAYS if fates[fate]]
    if not said:
        return _calm(counts, everyone)
    (times, words), *rest = said
    more = [f"{plural(n, 'broker')} {text}" for n, text in rest]
    fine = sum(row.worst in ("ok", "info") for row in everyone)
    if fine:
        more.append(f"{plural(fine, 'broker')} {'is' if fine == 1 else 'are'} fine")
    return Headline(tone="error", headline=f"{plural(times, 'broker')} {words}", more=" · ".join(more))


def _calm(counts: Mapping[str, int], everyone: tuple[BrokerRow, ...]) -> Headline:
    if not everyone:
        return Headline(tone="info", headline="No log dir was found", more="Nothing was looked at.")
    if counts["error"] or counts["warning"]:
        told = " and ".join(plural(counts[s], s) for s in ("error", "warning") if counts[s])
        tone = "error" if counts["error"] else "warning"
        unread = sum(Consequence.UNKNOWN in row.fates for row in everyone)
        if unread:
            more = f"Not all of {plural(unread, 'broker')} could be read: what their start does nobody knows."
            return Headline(
                tone=tone, headline=f"{plural(unread, 'broker')} not read in full, {told}", more=more
            )
        return Headline(tone=tone, headline=f"Every broker would start, with {told}", more="")
    headline = "Nothing wrong found"
    notes = f"{plural(counts['info'], 'note')} for information" if counts["info"] else ""
    return Headline(tone="ok", headline=headline, more=notes)


def bytes_of(everyone: tuple[BrokerRow, ...]) -> str:
    return size(sum(row.log_bytes for row in everyone))
