"""No flipped bit of a batch's header makes a rescue give a record at another offset, or twice, untold."""

from pathlib import Path

import pytest
from tests.cli.run import Ran
from tests.faults.on_disk import flip
from tests.golden.shared import golden
from tests.merge.flipped import play, replica, rescued, verdict
from tests.seeds import SEED, sampled

COUNT = sampled(400, 24)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_flipped_bits_are_told(part: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    told = play(range(part, COUNT, 4), SEED, [], tmp_path)
    assert not told["DISAGREES"], capfd.readouterr().out


def test_an_index_entry_that_fits_both_places_tells_nothing(tmp_path: Path) -> None:
    """Seed 43, number 87: offset 11 is in the last batch where it is, and where one bit would have it."""
    place = next(golden("3.9.2-clean").glob("b1/d*/txn-open-0"))
    copy = replica(place, tmp_path / "b0", whole=True)
    flip(copy / "00000000000000000000.log", 853)
    ran, rows = rescued([copy.parent], "txn-open", tmp_path / "out")
    assert (ran.code, [offset for offset, _ in rows if offset >= 8]) == (4, [])
    (line,) = ran.of("partition")
    assert any("where 8 is due, is left out: one flipped bit" in each for each in line["doubts"])


@pytest.mark.parametrize(
    ("rows", "code", "assumed", "ended"),
    [
        ([(0, ("a",)), (1, ("b",))], 0, False, "right"),
        ([(0, ("a",)), (2, ("b",))], 0, False, "all-clear"),
        ([(0, ("a",)), (2, ("b",))], 0, True, "assumed"),
        ([(0, ("a",))], 0, False, "all-clear"),
        ([(0, ("a",))], 4, False, "told"),
        ([(0, ("a",)), (0, ("a",))], 4, False, "twice"),
        ([], 8, False, "error"),
    ],
)
def test_the_judge_sees_what_is_wrong(
    rows: list[tuple[int, tuple[str, ...]]], code: int, assumed: bool, ended: str
) -> None:
    line = f'{{"type": "partition", "doubts": [], "conflicts": [], "assumed": {["x"] * assumed}}}'
    truth = {0: ("a",), 1: ("b",)}
    assert verdict(truth, Ran(code, line.replace("'", '"'), ""), rows) == ended
