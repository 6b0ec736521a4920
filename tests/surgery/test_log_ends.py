"""A few of `python -m tests.surgery.log_ends`, and of `small_files` and `journals` there; what they found."""

from pathlib import Path

import pytest
from tests.seeds import SEED, sampled
from tests.surgery import journals, log_ends, small_files

pytestmark = pytest.mark.slow
FOUND = [
    *((2, number) for number in (26, 34, 35, 41)),
    *((77, number) for number in (73, 107, 110, 162, 218, 301, 374)),
    (500, 2),
    (500, 91),
    (903, 0),
    (700, 25),
    (909, 10),
    (910, 21),
]
"""By seed and number: a command that did nothing, or ended with a traceback."""
FOUND_ANYWHERE = [(904, 85), (905, 65), (905, 101), (905, 130), (907, 157)]
"""The same of damage anywhere in a partition."""
FOUND_SMALL = [(60, 31), (61, 24), (61, 51), (61, 162), (61, 281), (62, 180)]
"""And of small files: links in the place of what a plan was named for, a version alone that was lost."""


def test_commands_that_check_names_do_what_they_say(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    count = sampled(300, 6)
    told = log_ends.play(range(count), SEED, log_ends.GOLDENS, tmp_path)
    assert told == {"ok": count}, capfd.readouterr().out


@pytest.mark.parametrize(("seed", "number"), FOUND)
def test_commands_that_once_did_nothing(
    seed: int, number: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    told = log_ends.play([number], seed, log_ends.GOLDENS, tmp_path, at_end=True)
    assert told == {"ok": 1}, capfd.readouterr().out


@pytest.mark.parametrize(("seed", "number"), FOUND_ANYWHERE)
def test_commands_that_once_did_nothing_elsewhere(
    seed: int, number: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    told = log_ends.play([number], seed, log_ends.GOLDENS, tmp_path, at_end=False)
    assert told == {"ok": 1}, capfd.readouterr().out


def test_commands_that_check_names_for_small_files_do_what_they_say(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    count = sampled(200, 3)
    told = small_files.play(range(count), SEED, log_ends.GOLDENS, tmp_path)
    assert told == {"ok": count}, capfd.readouterr().out


@pytest.mark.parametrize(("seed", "number"), FOUND_SMALL)
def test_commands_that_once_did_nothing_for_small_files(
    seed: int, number: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    told = small_files.play([number], seed, log_ends.GOLDENS, tmp_path)
    assert told == {"ok": 1}, capfd.readouterr().out


def test_a_damaged_journal_is_no_word_for_what_is_not_so(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    count = sampled(400, 24)
    told = journals.play(range(count), SEED, [], tmp_path)
    assert told["DISAGREES"] == 0, capfd.readouterr().out
    assert min(told["undo"], told["apply"], told["refused"]) > 0
