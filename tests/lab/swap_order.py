"""Three `.log.swap` files over one another: `python -m tests.lab.swap_order`.

In 2.8.2 their order is that of a hash of their paths, so the same files are started in directories of several
names.
"""

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.faults.patient import Patient
from tests.faults.table import fault
from tests.lab.test_live import Live, its_turn
from tests.lab.trial import save

RECORD = Path(__file__).with_name("swap_order.json")
BASES = ("2.8.2-clean", "2.8.2-killed", "1.1.0-clean", "1.1.0-killed")
REPAIRED = re.compile(r"(\d{20})\.log\.swap from interrupted swap operation, repairing")
PLACES = ("a", "bb", "ccc", "dddd", "eeeee")


def hurt(patient: Patient) -> None:
    """Each holds a segment and what the next one has, the last only half of its segment."""
    old, rolled, last = (patient.file(role) for role in ("old", "rolled", "last-rolled"))
    half = last.read_bytes()[: last.stat().st_size // 2]
    for path, data in (
        (old, old.read_bytes() + rolled.read_bytes()),
        (rolled, rolled.read_bytes() + last.read_bytes()),
        (last, half),
    ):
        patient.write(f"{path.name}.swap", data)


SWAPS = fault("three-swaps-over-one-another", hurt)


def tried(name: str, place: Path) -> dict[str, Any]:
    """The order, and what became of the log."""
    live = Live(name, place)
    live.lonely(SWAPS)
    verdict = live.verdicts[SWAPS.name]
    said = (live.work / "trial/b1/server.log").read_text(errors="replace")
    partition = verdict.get("partition", {})
    return {
        "order": [int(number) for number in REPAIRED.findall(said)],
        "outcome": verdict["outcome"],
        "offsets": partition.get("offsets"),
        "gone": [each for each in partition.get("gone", ()) if each.endswith(".log")],
        "missing": partition.get("read", {}).get("missing", []),
    }


def main(*names: str) -> None:
    """All releases, or those named."""
    found: dict[str, Any] = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    for name in names or BASES:
        with its_turn(name.partition("-")[0]), tempfile.TemporaryDirectory(prefix="swaps-") as work:
            seen = [tried(name, Path(work, place)) for place in PLACES]
        found[name] = [each for number, each in enumerate(seen) if each not in seen[:number]]
        print(name, *map(json.dumps, found[name]), sep="\n  ", flush=True)
        save(RECORD, found)


if __name__ == "__main__":
    main(*sys.argv[1:])
