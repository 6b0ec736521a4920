"""What was tried, kept: `python -m tests.lab.quorums.record BASES TRIALS.jsonl...` packs bases and trials."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.golden.pack import pack
from tests.golden.unpack import unpack
from tests.lab.quorums.base import NAMES
from tests.lab.quorums.trial import Case

HERE = Path(__file__).with_name("recorded")
TRIALS = HERE / "trials.jsonl"


def unpacked(name: str, into: Path) -> Path:
    """A base, unpacked once."""
    return into if into.exists() else unpack(HERE / f"{name}.tar.xz", into)


def recorded() -> list[tuple[Case, dict[str, Any]]]:
    """The trials, and what came of them."""
    rows = [json.loads(line) for line in TRIALS.read_text().splitlines()]
    return [
        (Case(base, node, way, tuple(damages)), row)
        for row in rows
        for base, node, way, *damages in [row["case"]]
    ]


def keep(bases: Path, trials: Sequence[Path]) -> None:
    """Bases with all but what a start makes anew, and one line a trial."""
    for name in NAMES:
        pack(bases / name, ["b1/d0", "b2/d0", "b3/d0", "base.json"], HERE / f"{name}.tar.xz")
    lines = {}
    for told in (json.loads(line) for path in trials for line in path.read_text().splitlines()):
        case = told["case"]
        words = [case["base"], case["node"], case["way"], *case["damages"]]
        row = {"case": words, **{key: told[key] for key in ("exit", "steps", "promised", "found", "wrong")}}
        lines[json.dumps(words)] = json.dumps(row, separators=(",", ":"))
    TRIALS.write_text("".join(f"{line}\n" for line in lines.values()))


if __name__ == "__main__":
    keep(Path(sys.argv[1]), [Path(path) for path in sys.argv[2:]])
