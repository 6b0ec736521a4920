"""`plan quorum` killed anywhere, in apply and in undo: the same again ends it, undo goes back.

CI takes every ninth call, `python -m tests.sweep crash` all.
"""

from pathlib import Path

import pytest
from tests.lab.quorums.record import unpacked
from tests.lab.quorums.trial import Case, Scene
from tests.seeds import sampled
from tests.surgery.loop import Loop
from tests.surgery.picture import picture

from segmend.surgery.plan import Plan

CASES = (
    Case("4.3.1-dynamic", 3, "from", ("log-flip@0.3", "state-gone", "snapshot-cut")),
    Case("4.3.1-dynamic", 1, "alone", ("log-flip@0.3",)),
)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.usefixtures("no_other_processes")
@pytest.mark.slow
def test_killed_anywhere(case: Case, tmp_path: Path) -> None:
    scene = Scene.of(case, unpacked(case.base, tmp_path / "base"), tmp_path / "nodes")
    assert scene.plan().steps
    loop = Loop(Plan.load(str(scene.plan_file)), tmp_path / "state", lambda: picture(scene.home))
    assert loop.everywhere(sampled(1, 9)) > 10
