"""`segmend quarantine`: what was set aside, listed, brought back, and given up for good."""

import errno
import re
import shlex
import time
from pathlib import Path

import pytest
from tests.cli.run import Ran
from tests.copies import copy_tree
from tests.golden.shared import golden
from tests.surgery.desk import Desk
from tests.surgery.picture import picture

from segmend.errors import SegmendError
from segmend.surgery.execute.quarantines import discard, named
from segmend.surgery.writing.effects import Effects


@pytest.fixture
def desk(tmp_path: Path, elsewhere: Path) -> Desk:
    """A broker of which all that waits for its deletion was set aside."""
    desk = Desk(golden("4.3.1-killed") / "b1", tmp_path)
    waiting = [path for d in desk.dirs for path in d.rglob("*.deleted")]
    for path in sorted(waiting, key=lambda path: path.stat().st_size)[:-1]:
        path.unlink()
    desk.before = desk.tree()  # type: ignore[attr-defined]
    desk.plan("free", "--bytes", "1GB", "--backup-dir", elsewhere)
    desk.apply()
    return desk


def quarantine(desk: Desk, *argv: object) -> Ran:
    return desk.run("quarantine", *argv, "--state-dir", desk.state, "--json")


def state(desk: Desk, item: str) -> str:
    """What the list says of one thing."""
    return next(str(row["state"]) for row in quarantine(desk, "list").json if row["item"] == item)


@pytest.mark.slow
def test_nothing_is_set_aside(desk: Desk) -> None:
    ran = desk.run("quarantine", "list", "--state-dir", desk.root / "other")
    assert (ran.code, ran.out) == (0, f"{desk.root}/other: nothing is set aside\n")


def test_the_list_says_what_was_where_and_why(desk: Desk) -> None:
    rows = quarantine(desk, "list").json
    assert len(rows) == 3
    for row in rows:
        assert row["state"] == "kept"
        assert not Path(row["path"]).exists()
        assert Path(row["place"]).exists()
        assert row["reason"]
    shown = desk.run("quarantine", "list", "--state-dir", desk.state)
    assert rows[0]["item"] in shown.out


@pytest.mark.slow
@pytest.mark.parametrize("ending", [".log.deleted", "-future"])
def test_one_thing_is_brought_back_as_it_was(desk: Desk, ending: str) -> None:
    row = next(row for row in quarantine(desk, "list").json if row["path"].endswith(ending))
    ran = quarantine(desk, "restore", row["item"], "-o", desk.plan_file)
    assert ran.code == 0
    desk.apply()
    path = Path(row["path"])
    before = desk.before  # type: ignore[attr-defined]
    assert all(before[name] == value for name, value in picture(path).items())
    again = quarantine(desk, "restore", row["item"])
    assert (again.code, again.err.count("\n")) == (8, 1)
    # A file was copied: its plan can still be undone as a whole.
    assert state(desk, row["item"]) == ("kept" if path.is_file() else "restored")
    desk.undo()
    assert (path.exists(), state(desk, row["item"])) == (False, "kept")
    desk.undo("0001")
    assert desk.tree() == before


@pytest.mark.slow
def test_no_partition_comes_back_beside_itself(desk: Desk) -> None:
    """A broker refuses a partition that is in two of its log dirs."""
    desk.undo()
    name = next(path.name for path in sorted(desk.dirs[1].glob("*-0")) if (path / f"{0:020}.log").exists())
    leader = desk.root / "leader" / name
    copy_tree(desk.dirs[1] / name, leader)
    desk.plan("graft", "--partition", name, "--from", leader, "--whole")
    desk.apply()
    item = quarantine(desk, "list").json[-1]["item"]
    desk.plan("move", "--partition", name, "--to", desk.dirs[0])
    desk.apply()
    ran = quarantine(desk, "restore", item, "-o", desk.plan_file)
    assert (ran.code, f"{desk.dirs[0]}/{name}: is that partition too" in ran.err) == (8, True)


@pytest.mark.slow
def test_what_is_discarded_is_gone_and_no_undo_pretends(desk: Desk) -> None:
    rows = quarantine(desk, "list").json
    before = desk.tree()
    assert quarantine(desk, "discard", "0001").code == 16  # nobody to ask
    assert all(Path(row["place"]).exists() for row in rows)
    ran = quarantine(desk, "discard", "0001", "--yes")
    assert ran.code == 1
    assert ran.json[0]["items"] == len(rows)
    assert ran.json[0]["bytes"] > 0
    assert not any(Path(row["place"]).exists() for row in rows)
    assert {row["state"] for row in quarantine(desk, "list").json} == {"discarded"}
    undo = desk.run("undo", "--yes", "--state-dir", desk.state)
    assert (undo.code, undo.err.count("\n")) == (8, 1)
    assert "given up for good" in undo.err
    for plan in (desk.plan_file, "1"):
        again = desk.run("apply", plan, "--yes", "--state-dir", desk.state)
        assert again.code in (1, 5)
        assert "to go back" not in again.out
        assert "no undo takes it back: what it set aside was given up for good" in again.out
    assert desk.tree() == before
    assert quarantine(desk, "discard", "1", "--yes").code == 0  # nothing to do
    assert quarantine(desk, "restore", rows[0]["item"]).code == 8


@pytest.mark.slow
def test_one_item_alone_can_be_discarded(desk: Desk) -> None:
    rows = quarantine(desk, "list").json
    assert quarantine(desk, "discard", rows[1]["item"], "--yes").json[0]["items"] == 1
    assert [row["state"] for row in quarantine(desk, "list").json].count("discarded") == 1
    undo = desk.run("undo", "--yes", "--state-dir", desk.state)
    assert undo.code == 8
    (named,) = re.findall(r"what can still be taken back: segmend ([^\n)]+)", undo.err)
    desk.run(*shlex.split(named), "-o", desk.plan_file)
    desk.apply()
    back = {row["path"] for row in rows if Path(row["path"]).exists()}
    assert rows[1]["path"] not in back
    assert len(back) > len(rows) / 2


@pytest.mark.slow
def test_what_was_taken_back_is_set_aside_no_more(desk: Desk) -> None:
    desk.undo()
    assert quarantine(desk, "list").json == []
    ran = quarantine(desk, "discard", "0001", "--yes")
    assert ran.code == 16


@pytest.mark.slow
def test_names_that_are_none(desk: Desk) -> None:
    for name in ("", "7", "0001/999", "x/1", "1/x"):
        ran = quarantine(desk, "restore", name)
        assert (ran.code, ran.err.count("\n")) == (16, 1)


@pytest.mark.slow
def test_a_discard_that_was_stopped_goes_on(desk: Desk) -> None:
    """Whatever call was the last one, nothing pretends that it can be brought back, and the rest goes."""
    chosen = named(str(desk.state), "0001")
    calls = 0

    class Stopped(Effects):
        def remove(self, path: str) -> None:
            nonlocal calls
            calls += 1
            if calls == 4:
                raise OSError(errno.EIO, "input/output error", path)
            super().remove(path)

    with pytest.raises(SegmendError, match="the same command goes on"):
        discard(chosen, fx=Stopped(), now=time.time)
    assert any(item.state == "kept" for item in chosen)
    assert desk.run("undo", "--yes", "--state-dir", desk.state).code == 8
    assert quarantine(desk, "discard", "0001", "--yes").code == 1
    assert {row["state"] for row in quarantine(desk, "list").json} == {"discarded"}


@pytest.mark.parametrize("hurt", ["a byte", "a mode"])
def test_what_was_changed_where_it_was_set_aside_is_not_taken_for_what_was(clean: Desk, hurt: str) -> None:
    """`undo` brought it back with exit 0; what is left of it can be had by a plan."""
    before = clean.tree()
    assert clean.plan("delete", "--partition", "nulls-0", "--accept-loss", "100-records").code == 0
    clean.apply()
    log = max(clean.state.glob("journals/*/steps/*/nulls-0/*.log"))
    if hurt == "a mode":
        log.chmod(0o604)
    else:
        log.write_bytes(log.read_bytes()[:-1])
    after = clean.tree()
    ran = clean.run("undo", "--yes", "--state-dir", clean.state)
    said = f"{log}: its mode is 604, not " if hurt == "a mode" else f"{log.parent}: its size is "
    assert "segmend plan reverse" in ran.err
    assert (ran.code, said in ran.err, clean.tree()) == (8, True, after), ran.err
    again = clean.run("plan", "reverse", "--state-dir", clean.state, "-o", clean.plan_file)
    assert again.code == (0 if hurt == "a mode" else 4), again
    clean.apply()
    assert clean.tree().keys() == before.keys()
