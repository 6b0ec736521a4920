"""A killed 1.x broker looks into the segment below the one whose indexes it makes anew."""

from pathlib import Path

import pytest
from tests.cli.run import run
from tests.copies import copy_tree
from tests.golden.shared import golden


@pytest.mark.parametrize(("release", "outcome"), [("1.1", "refuses"), ("2.0", "starts")])
def test_zeros_below_the_active_segment(tmp_path: Path, release: str, outcome: str) -> None:
    """As a real 1.1.0 did (tests.lab.disasters, seed 6101, number 5): nothing catches what it meets there."""
    home = tmp_path / "data"
    copy_tree(golden("1.1.0-killed"), home)
    (partition,) = home.glob("b1/d*/idem-0")
    *_, below, active = sorted(partition.glob("*.log"))
    assert active.with_suffix(".snapshot").exists()
    below.write_bytes(bytes(below.stat().st_size))
    last = run("forecast", *sorted(home.glob("b1/d*")), "--kafka", release, "--json").json[-1]
    assert last["outcome"] == outcome
    assert ("CorruptRecordException" in (last["reason"] or "")) == (outcome == "refuses")
