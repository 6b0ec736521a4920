"""Each command that can take long says how far it is; which do not, and why, stands here."""

from pathlib import Path

import pytest
from tests.cli.run import run
from tests.copies import copy_tree
from tests.golden.shared import golden

from segmend.cli import commands
from segmend.discovery import modules_in
from segmend.report.progress import Progress

pytestmark = pytest.mark.usefixtures("no_other_processes")

COUNTED = {
    "check": [["check", "DIRS"]],
    "diff": [["diff", "DIRS", "OTHER"]],
    "explain": [["explain", "upgrade", "DIRS", "--kafka", "4.4"]],
    "forecast": [["forecast", "DIRS"], ["forecast", "--cluster", "DIRS"]],
    "plan": [["plan", "repair", "DIRS", "-o", "PLAN"]],
    "apply": [["apply", "PLAN", "--yes", "--state-dir", "STATE"]],
    "undo": [["undo", "--yes", "--state-dir", "STATE"]],
    "rescue": [["rescue", "DIRS", "--out", "OUT"]],
    "export": [["export", "DIRS", "--out", "LAKE"]],
}
"""In this order, for one needs what another has made."""
SAYS = {"show": "which partition it is at", "fleet": "what its drivers have done: tests/fleet"}
SHORT = {
    "completion", "help", "man",  # words
    "journal", "quarantine",  # lists of names; a move back is planned, and applied
}  # fmt: skip


def test_each_command_is_known_here() -> None:
    assert {*COUNTED, *SAYS, *SHORT} == {*modules_in(commands.__path__)}


@pytest.mark.slow
def test_long_commands_say_how_far_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("home", "other"):
        copy_tree(golden("4.3.1-clean") / "b1", tmp_path / name)
    dirs = sorted((tmp_path / "home").iterdir())
    next(dirs[0].glob("*/*.timeindex")).unlink()
    place = {each: [tmp_path / each.lower()] for each in ("PLAN", "STATE", "OUT", "LAKE")}
    place |= {"DIRS": dirs, "OTHER": sorted((tmp_path / "other").iterdir())}
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(Progress, "update", lambda _self, done, total, _what: told.append((done, total)))
    init = Progress.__init__
    monkeypatch.setattr(
        Progress, "__init__", lambda self, stream, **more: init(self, stream, **{**more, "shown": True})
    )
    for asked in (words for each in COUNTED.values() for words in each):
        argv = [found for word in asked for found in place.get(word, [word])]
        told.clear()
        ran = run(*argv)
        assert ran.code in (0, 1, 4, 5), (argv, ran)
        assert any(0 < done <= total for done, total in told), asked
