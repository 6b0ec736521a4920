"""`python -m tests.surgery.shows GOLDEN... [OPERATION...]`: each operation alone, judged by a broker.

GOLDEN is `1.1.0-clean`, or `1.1.0` for both, or `all`.
"""

import sys
import tempfile
import time
from pathlib import Path

from tests.conftest import GOLDEN, golden_names
from tests.golden.unpack import unpack
from tests.surgery.shows.matrix import CASES, alone, cases_of


def main(words: list[str]) -> int:
    """Run what is asked for; the number of failures."""
    operations = {case.name for case in CASES}
    chosen = [word for word in words if word in operations]
    wanted = [word for word in words if word not in operations]
    names = [name for name in golden_names() if not name.endswith("-fleet")]
    failures = 0
    for golden in names:
        if "all" not in wanted and not any(golden.startswith(word) for word in wanted):
            continue
        failures += sum(not one(golden, name) for name in table_rows(golden, chosen))
    return failures


def table_rows(golden: str, chosen: list[str]) -> list[str]:
    """The operations to run on a golden directory; tells of those that it has not."""
    number = tuple(map(int, golden.partition("-")[0].split(".")))
    for case in CASES:
        if case.why_not(number) and golden.endswith("-clean") and (not chosen or case.name in chosen):
            print(f"{golden:16} {case.name:20}      -  {case.why_not(number)}")
    return [case.name for case in cases_of(golden) if not chosen or case.name in chosen]


def one(golden: str, name: str) -> bool:
    """Run one operation and print its row; whether it went well."""
    case = next(case for case in CASES if case.name == name)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="shows-") as work:
        whole = unpack(GOLDEN / f"{golden}.tar.xz", Path(work) / "golden")
        try:
            said = alone(golden, whole, Path(work), case, start=True)
        except Exception as error:
            said = f"FAILS: {type(error).__name__}: {error}"
    print(f"{golden:16} {name:20} {time.monotonic() - begun:5.1f}s  {said}", flush=True)
    return not said.startswith("FAILS")


if __name__ == "__main__":
    sys.exit(min(main(sys.argv[1:]), 1))
