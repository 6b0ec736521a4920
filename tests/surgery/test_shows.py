"""Each operation on each golden release: check, plan, apply, check, undo; then that release's broker.

All operations of a release follow each other on one copy of its directory; `python -m tests.surgery.shows`
has each alone, on a fresh copy, and a broker started after each.
"""

from pathlib import Path
from typing import Any

import pytest
from tests.conftest import golden_names
from tests.golden.shared import golden
from tests.real.conftest import need_kafka
from tests.seeds import SWEEP, some_of
from tests.surgery.shows.after_a_start import play as reversed_plans
from tests.surgery.shows.bed import Case
from tests.surgery.shows.matrix import CASES, alone, cases_of, refusal, together

from segmend.surgery.ops import names

GOLDENS = [name for name in golden_names() if not name.endswith("-fleet")]
CLEAN = [name for name in GOLDENS if name.endswith("-clean")]
STARTED = [*CLEAN, "1.1.0-killed", "4.3.1-killed"]
SHOWN = some_of(STARTED, 2, 1)
"""On these CI starts a broker; of each other release it takes one without."""
REST = sorted({*GOLDENS} - {*(STARTED if SWEEP else SHOWN)})


def refused() -> list[Any]:
    """The operations that are rightly refused."""
    return [
        pytest.param(golden, case, id=f"{golden}-{case.name}")
        for golden in GOLDENS
        for case in cases_of(golden)
        if refusal(golden, case) is not None
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "case"), refused())
def test_it_is_refused(name: str, case: Case, tmp_path: Path) -> None:
    assert alone(name, golden(name), tmp_path, case, start=False).startswith("refused: ")


@pytest.mark.slow
@pytest.mark.parametrize("name", some_of(REST, 3))
def test_all_operations_are_done_and_undone(name: str, tmp_path: Path) -> None:
    """Where no broker is started after them."""
    assert together(name, golden(name), tmp_path, start=False)


@pytest.mark.broker
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", SHOWN)
def test_the_broker_serves_what_all_operations_left(name: str, tmp_path: Path) -> None:
    need_kafka(name.partition("-")[0])
    done = together(name, golden(name), tmp_path, start=True)
    asked = {"repair-checkpoints", "trim", "trim-loss", "drain", "free", "graft-behind", "compose"}
    assert asked <= set(done)
    assert name not in CLEAN or {"repair-indexes", "graft-lost", "adopt-stray", "move"} <= set(done)


@pytest.mark.broker
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("name", "killed"),
    [(name, killed) for name in CLEAN for killed in (False, True)] if SWEEP
    else [(name, bool(number % 2)) for number, name in enumerate(some_of(CLEAN, 3, 2))],
)  # fmt: skip
def test_plans_are_reversed_after_a_broker_ran(name: str, killed: bool, tmp_path: Path) -> None:
    need_kafka(name.partition("-")[0])
    assert reversed_plans(name, golden(name), tmp_path, killed=killed)


def test_no_operation_is_left_out() -> None:
    """Every operation of `segmend plan` has a case, on the newest release."""
    shown = {case.name.partition("-")[0] for case in CASES if case.why_not((4, 3, 1)) is None}
    assert shown >= set(names())
