"""Commands that surgery prints, read by a shell: whole, quoted, wherever log dirs and state dir are."""

from pathlib import Path

import pytest
from tests.cli.run import Ran, run
from tests.cli.typed import commands_in
from tests.golden.shared import golden
from tests.surgery.desk import Desk
from tests.surgery.test_names import OTHER, SINGLE, home_of

ODD = 'it\'s "the" $HOME `of` a; b'


@pytest.fixture
def odd(tmp_path: Path) -> Desk:
    """Log dirs, plans and journals in a directory that no shell leaves as it is."""
    (tmp_path / ODD).mkdir()
    return Desk(golden("4.3.1-clean") / "b1", tmp_path / ODD)


def only(ran: Ran, *beginning: str) -> list[str]:
    """The words of the one command that begins so."""
    found = [each for each in commands_in(f"{ran.err}\n{ran.out}") if (*each[: len(beginning)],) == beginning]
    assert len(found) == 1, ran
    return found[0]


def deleted(desk: Desk) -> Path:
    home = home_of(desk, "single-0")
    desk.plan("delete", "--partition", "single-0", "--accept-loss", f"{SINGLE}-records")
    desk.apply()
    return home


@pytest.mark.parametrize("name", ["0007", "/no/dir"])
def test_the_list_of_journals_is_that_of_the_state_dir(odd: Desk, name: str) -> None:
    deleted(odd)
    words = only(run("undo", name, "--state-dir", odd.state, code=16), "journal", "list")
    (journal,) = run(*words, "--json").of("journal")
    assert journal["path"].startswith(f"{odd.state}/")


def test_the_list_of_what_is_set_aside_is_that_of_the_state_dir(odd: Desk) -> None:
    deleted(odd)
    ran = run("quarantine", "restore", "0007/1", "--state-dir", odd.state, code=16)
    assert "0001/" in run(*only(ran, "quarantine", "list"), code=0).out


def test_two_directories_to_compare_are_shown(odd: Desk) -> None:
    ran = odd.plan("rename", "--topic", "single", "--to", "nulls", "--topic-id", OTHER, "--even-stray")
    assert ran.code in (8, 16), ran
    shown = run(*only(ran, "show"), code=0).out
    assert "single-0" in shown and "nulls-0" in shown  # noqa: PT018 - both in one


def test_what_a_reverse_leaves_aside_is_shown(odd: Desk) -> None:
    home = deleted(odd)
    home.mkdir()
    (home / f"{0:020d}.log").write_bytes(b"what came since")
    ran = run("plan", "reverse", "--state-dir", odd.state, code=4)
    assert str(SINGLE) in run(*only(ran, "show"), code=0).out


def test_a_refused_undo_names_the_way_back(odd: Desk) -> None:
    """And what that names next carries it out."""
    home = deleted(odd)
    home.mkdir()
    ran = run("undo", "--yes", "--state-dir", odd.state, code=8)
    ran = run(*only(ran, "plan", "reverse"), "-o", odd.plan_file, code=0)
    run(*only(ran, "apply"), "--yes", code=1)
    assert any(home.iterdir())


def test_what_another_plan_left_is_told_with_the_way_back(odd: Desk) -> None:
    """A plan is older than another one, which changed a file of its own."""
    asked = ("delete", "--partition", "single-0", "--accept-loss", f"{SINGLE}-records")
    odd.plan(*asked)
    older = odd.plan_file.rename(odd.root / "older.json")
    other = next(each for each in odd.dirs if not (each / "single-0").exists())
    odd.plan("move", "--partition", "single-0", "--to", other)
    odd.apply()
    ran = run("apply", older, "--yes", "--state-dir", odd.state, code=8)
    (journal,) = (odd.state / "journals").iterdir()
    run(*only(ran, "undo", str(journal)), "--yes", code=0)
    run("apply", older, "--yes", "--state-dir", odd.state, code=1)
