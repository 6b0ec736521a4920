"""No flipped bit of a batch's header makes a rescue give a record at another offset, or twice, untold."""

from pathlib import Path

import pytest
from tests.cli.run import Ran
from tests.merge.flipped import play, verdict
from tests.seeds import SEED, sampled

COUNT = sampled(400, 24)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_flipped_bits_are_told(part: int, tmp_path: Path) -> None:
    _, wrong = play(SEED, range(part, COUNT, 4), tmp_path)
    assert not wrong, "\n".join(wrong)


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
