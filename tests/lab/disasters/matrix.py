"""The matrix: recorded disasters by release and kind, and how many of them today's forecast agrees with."""

import os
import shutil
from collections import Counter

from tests.lab.disasters.bases import RELEASES
from tests.lab.disasters.compare import differing, wrong
from tests.lab.disasters.draw import HANDS_KINDS, RIVAL_KINDS, Disaster
from tests.lab.disasters.run import Row, compared, record, rows_of, scratch

COLUMNS = (*RIVAL_KINDS, *HANDS_KINDS, "release")


def replayable(version: str) -> list[Row]:
    """The recorded disasters that can be done again here: only root can give files away."""
    return [row for row in rows_of(record(version)) if os.geteuid() == 0 or row.get("uid") is None]


def agreements(version: str, every: int = 1) -> dict[int, list[str]]:
    """Of each recorded disaster (or of one of so many), in what today's forecast differs."""
    root = scratch("agreements")
    try:
        return {
            row["n"]: compared(Disaster.from_json(version, row), row["verdict"], root)
            for row in replayable(version)[::every]
        }
    finally:
        shutil.rmtree(root, ignore_errors=True)


def matrix() -> str:
    """A row a release: `agreeing/trials` for each kind; beside it those in which it left something open."""
    lines = ["release  " + "".join(f"{name:>10}" for name in (*COLUMNS, "all", "not told"))]
    sums: Counter[tuple[str, str]] = Counter()
    for version in RELEASES:
        found = agreements(version)
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
