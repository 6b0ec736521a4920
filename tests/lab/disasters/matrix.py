"""The matrix: recorded disasters by release and kind, and how many of them today's forecast agrees with."""

import functools
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from heapq import heapify, heappop, heappush
from typing import Any

from tests.lab.disasters.bases import RELEASES
from tests.lab.disasters.compare import differing, wrong
from tests.lab.disasters.draw import HANDS_KINDS, RIVAL_KINDS, Disaster
from tests.lab.disasters.run import Row, compared, record, rows_of, scratch

COLUMNS = (*RIVAL_KINDS, *HANDS_KINDS, "release")


def replayable(version: str) -> list[Row]:
    """The recorded disasters that can be done again here: only root can give files away."""
    return [row for row in rows_of(record(version)) if os.geteuid() == 0 or row.get("uid") is None]


def covering(disasters: Sequence[Disaster], facts: Callable[[Disaster], set[Any]]) -> list[Disaster]:
    """Few of them that have every fact that any has: always one that brings the most new ones."""
    of = [facts(each) for each in disasters]
    seen: set[Any] = set()
    found, most = [], [(-len(each), number) for number, each in enumerate(of)]
    heapify(most)
    while most:
        said, number = heappop(most)
        brings = len(of[number] - seen)
        if brings == -said:
            found.append(disasters[number])
            seen |= of[number]
        elif brings:
            heappush(most, (-brings, number))
    return found


def wounds_of(disaster: Disaster) -> set[str]:
    """Their kinds."""
    return {wound.partition("@")[0] for wound in disaster.wounds}


@functools.cache
def telling() -> dict[str, set[int]]:
    """The numbers of those that CI takes: every kind of wound with every end that it had anywhere, and on
    each release every end, every kind of disaster, and the dirs of every other release and stage.
    """
    rows = {
        Disaster.from_json(version, row): row
        for version in RELEASES if record(version).exists()
        for row in replayable(version)
    }  # fmt: skip

    def facts(disaster: Disaster) -> set[Any]:
        row, version = rows[disaster], disaster.version
        end = (row["verdict"]["outcome"], "offline" in row["verdict"])
        here = {end, row["kind"], (row.get("of"), row["stage"])}
        return {(wound, end) for wound in wounds_of(disaster)} | {(version, each) for each in here}

    found: dict[str, set[int]] = {version: set() for version in RELEASES}
    for disaster in covering([*rows], facts):
        found[disaster.version].add(disaster.number)
    return found


def agreements(version: str, rows: Iterable[Row]) -> dict[int, list[str]]:
    """Of each of these recorded disasters, in what today's forecast differs."""
    root = scratch("agreements")
    try:
        return {row["n"]: compared(Disaster.from_json(version, row), row["verdict"], root) for row in rows}
    finally:
        shutil.rmtree(root, ignore_errors=True)


def matrix() -> str:
    """A row a release: `agreeing/trials` for each kind; beside it those in which it left something open."""
    lines = ["release  " + "".join(f"{name:>10}" for name in (*COLUMNS, "all", "not told"))]
    sums: Counter[tuple[str, str]] = Counter()
    for version in RELEASES:
        found = agreements(version, replayable(version))
        for row in replayable(version):
            for name in (row["kind"], "all"):
                for whose in (version, "all"):
                    sums[whose, f"{name} trials"] += 1
                    sums[whose, f"{name} good"] += not differing(found[row["n"]])
            for whose in (version, "all"):
                sums[whose, "not told"] += bool(differing(found[row["n"]])) and not wrong(found[row["n"]])
    for whose in (*RELEASES, "all"):
        cells = (
            f"{sums[whose, f'{name} good']}/{sums[whose, f'{name} trials']}" for name in (*COLUMNS, "all")
        )
        lines.append(f"{whose:<9}" + "".join(f"{cell:>10}" for cell in (*cells, sums[whose, "not told"])))
    return "\n".join(lines)
