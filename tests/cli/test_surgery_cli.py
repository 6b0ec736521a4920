"""The commands of surgery as an operator at 3 a.m. gives them: slips of the hand, odd places, signals."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.surgery.desk import Desk, picture

Cap = pytest.CaptureFixture[str]


@pytest.fixture
def desk(golden: Callable[[str], Path], tmp_path: Path, capsys: Cap) -> Desk:
    """A broker that was stopped cleanly, with two log dirs."""
    return Desk(golden("4.3.1-clean") / "b1", tmp_path, capsys)


MOVE = ("--partition", "txn-0", "--to")


def test_what_is_no_plan_is_not_written_over(desk: Desk) -> None:
    """Neither the broker's configuration, nor a device, nor through a link to either."""
    precious = desk.root / "server.properties"
    precious.write_text("node.id=1\n")
    link = desk.root / "link"
    link.symlink_to(precious)
    fifo = desk.root / "fifo"
    os.mkfifo(fifo)
    for target in (precious, link, fifo, desk.root):
        ran = desk.run("plan", "move", *desk.dirs, *MOVE, desk.dirs[1], "-o", target)
        assert (ran.code, ran.err.count("\n")) == (16, 1), ran.err
        assert f"-o {target}: is " in ran.err
    assert precious.read_text() == "node.id=1\n"
    assert fifo.is_fifo()
    for _ in range(2):  # an older plan, and an empty file of mktemp's, may go
        assert desk.plan("move", *MOVE, desk.dirs[1]).code == 0
    desk.plan_file.write_bytes(b"")
    assert desk.plan("move", *MOVE, desk.dirs[1]).code == 0


def test_what_is_no_plan_is_told_before_an_hour_of_reading(desk: Desk) -> None:
    (desk.root / "notes").write_text("mine")
    before = picture(desk.root)
    ran = desk.run("plan", "repair", desk.root / "no-such-dir", "-o", desk.root / "notes")
    assert "notes: is there already, and is no plan" in ran.err
    assert picture(desk.root) == before


def test_a_plan_says_first_what_is_lost(desk: Desk) -> None:
    desk.plan("move", *MOVE, desk.dirs[1])
    lines = desk.run("plan", "show", desk.plan_file).out.splitlines()
    assert lines[0].startswith("move: 5 steps in ")
    assert lines[1].startswith("lost: nothing; all old bytes are kept, `segmend undo`")
    assert lines[2:4] == [
        f"a broker 4.3 started {when} it starts and loses nothing" for when in ("before", "after")
    ]
    assert lines[4].startswith("space: ")
    assert [line.split()[0] for line in lines if line.startswith("  ")][:5] == ["1", "2", "3", "4", "5"]


def test_many_steps_are_told_by_directory(desk: Desk) -> None:
    """Nobody reads ten thousand lines before he says yes."""
    for index in desk.home.rglob("*.index"):
        index.unlink()
    planned = desk.plan("repair")
    count = len(planned.of("step"))
    shown = desk.run("plan", "show", desk.plan_file).out
    assert count > 60
    assert shown.count("\n") < count
    assert f"1-{count}" not in shown
    assert "replace file: " in shown
    assert "(--json has each of them)" in shown
