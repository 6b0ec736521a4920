"""Grafts of the logs of every release: all magics, codecs, transactions, and what compaction leaves."""

import shutil
from pathlib import Path

import pytest
from tests.cli.run import Ran, run
from tests.conftest import golden_names
from tests.copies import copy_tree
from tests.golden.shared import golden
from tests.seeds import some_of
from tests.surgery.desk import start_code_of
from tests.surgery.picture import picture
from tests.surgery.test_graft import batches, fall_behind

CLEAN = [name for name in golden_names() if name.endswith("-clean")]
FAST = "2.8.2-clean"


def findings(found: Ran) -> set[tuple[str, str]]:
    return {
        (row["code"], row["file"]) for row in found.of("finding") if row["severity"] in ("error", "warning")
    }


def chosen(root: Path) -> list[Path]:
    """Partitions of several batches that no cleaner has been at, the same broker's."""
    lines = [path.read_text() for path in sorted(root.glob("b1/d*/cleaner-offset-checkpoint"))]
    found = []
    for path in sorted(root.glob("b1/d*/*-[0-9]")):
        topic, _, number = path.name.rpartition("-")
        cleaned = any(f"{topic} {number} " in line for line in lines)
        if not topic.startswith("__") and not cleaned and len(batches(path)) > 3:
            found.append(path)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name if name == FAST else pytest.param(name, marks=pytest.mark.slow) for name in CLEAN]
)
def test_every_log_of_a_release(name: str, tmp_path: Path) -> None:
    """The disk is the leader's; on a copy of it every replica is cut in the middle, and grafted."""
    leader, mine = golden(name), tmp_path / "mine"
    copy_tree(leader / "b1", mine / "b1")
    dirs = sorted((mine / "b1").glob("d*"))
    release = ("--kafka", name.partition("-")[0])
    healthy = findings(run("check", "--deep", *dirs, *release, "--json"))
    places = some_of(chosen(leader), 2, CLEAN.index(name)) if name != FAST else chosen(leader)[::6]
    assert len(places) > 2
    for place in places:
        replica = mine / place.relative_to(leader)
        count = len(batches(replica))
        if len(list(replica.glob("*.log"))) > 2 and count % 2:
            shutil.rmtree(replica)
        else:
            fall_behind(replica, count // 2, torn=5)
    before, codes = picture(mine), list[int]()
    for place in places:
        plan = tmp_path / "plan.json"
        where = ("--partition", place.name, "--from", place, "--to", mine / place.parent.relative_to(leader))
        codes.append(run("plan", "graft", *dirs, *where, *release, "-o", plan).code)
        assert codes[-1] == start_code_of(plan)
        run("apply", plan, "--yes", "--state-dir", tmp_path / "state", code=1 + codes[-1])
        assert batches(mine / place.relative_to(leader)) == batches(place)
    assert (codes[0], codes[-1]) == (4, 0), "the others are cut until the last is grafted"
    assert findings(run("check", "--deep", *dirs, *release, "--json")) <= healthy
    assert picture(mine) != before


def test_no_file_of_a_later_release_is_made(tmp_path: Path) -> None:
    """With a time index the same dirs looked as if a 0.10.1 or later had been at them."""
    leader, mine = golden("0.8.2.2-clean"), tmp_path / "mine"
    copy_tree(leader / "b1", mine / "b1")
    place = chosen(leader)[0]
    newest = max((mine / place.relative_to(leader)).glob("*.log"))
    newest.unlink()
    plan = tmp_path / "plan.json"
    where = ("--from", place, "-o", plan)
    run("plan", "graft", mine / place.parent.relative_to(leader), "--partition", place.name, *where, code=0)
    run("apply", plan, "--yes", "--state-dir", tmp_path / "state", code=1)
    assert newest.exists()
    assert not [*mine.rglob("*.timeindex")]
