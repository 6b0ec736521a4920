"""Each kind of step: there and back, as JSON, and seen in a view without being done."""

import json
import os
from itertools import zip_longest
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.fleet.build import plain, write_broker
from tests.surgery.faulty import Disk
from tests.surgery.world import Tree, World, make, plan_of, steps

from segmend.errors import SegmendError
from segmend.loading import ForecastOptions, forecast
from segmend.loading.values import PartitionOutcome
from segmend.logdir import disk
from segmend.logdir.file_system import Files, Unreadable
from segmend.logdir.files import FileEntry
from segmend.surgery import recipes
from segmend.surgery.execute.apply import apply
from segmend.surgery.fingerprint import Fingerprint, hash_bytes, look
from segmend.surgery.planning.view import PlannedView, planned
from segmend.surgery.step import Neighbours
from segmend.surgery.steps import kinds, step_of, step_to_json
from segmend.surgery.steps.cut_file import CutFile
from segmend.surgery.steps.quarantine import Quarantine
from segmend.surgery.steps.replace_file import ReplaceFile
from segmend.surgery.writing.transfer import transfer
from segmend.surgery.writing.work import Workplace

NAMES = ["rewrite", "create", "marker", "cut", "cut-index", "patch", "transplant", "append", "copy", "aside",
         "move", "move-far", "make-dir", "in-new-dir"]  # fmt: skip


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make(tmp_path / "world")


@pytest.mark.parametrize("number", range(len(NAMES) - 1), ids=NAMES[:-1])
def test_each_step_there_and_back_and_there_again(world: World, number: int) -> None:
    step = steps(world)[number]
    before = world.tree(folder_times=False)
    work = Workplace(fx=Disk(world.b), vault=str(world.root / "vault"), token="0123456789abcdef" * 2)
    (world.root / "vault").mkdir()
    assert step.not_before() is None
    assert step.not_after() is not None or step.KIND == "patch_file"
    for _ in range(2):
        step.protect(work)
        step.do(work)
        step.do(work)
        assert step.not_after() is None
        assert step.not_before() is not None
        step.undo(work)
        step.undo(work)
        assert step.not_before() is None
        assert world.tree(folder_times=False) == before


@pytest.mark.parametrize("number", range(len(NAMES)), ids=NAMES)
def test_each_step_survives_json(world: World, number: int) -> None:
    step = steps(world)[number]
    text = json.dumps(step_to_json(step))
    assert step_of(json.loads(text)) == step
    assert step.words()
    assert "\n" not in step.words()


@pytest.mark.parametrize("kind", sorted(kinds()))
def test_what_is_no_step_is_told_in_a_line(kind: str) -> None:
    for data in (
        {},
        {"path": 1},
        {"before": []},
        {"before": {"kind": "file"}, "after": {}, "path": "x", "reason": ""},
    ):
        with pytest.raises(SegmendError, match=f"a step '{kind}' of the plan cannot be read"):
            step_of({"kind": kind, **data})
    with pytest.raises(SegmendError, match="knows no step 'melt'"):
        step_of({"kind": "melt"})


def test_the_view_is_what_apply_leaves(world: World) -> None:
    """Every file of the view has the bytes, size, owner and mode that are on the disk afterwards."""
    plan = plan_of(world)
    a, b = planned(broker_of([world.a, world.b], str(plan.release)), plan.steps).dirs
    seen = {**_seen(a.files, a.path), **_seen(b.files, b.path)}
    apply(plan, str(world.state), fx=Disk())
    real = {**_real(world.a), **_real(world.b)}
    assert seen == real


def _seen(files: Files, path: str) -> Tree:
    found: Tree = {}
    for name, kind in files.listing(path).items():
        full = f"{path}/{name}"
        s = files.file_stat(full)
        data = FileEntry(files, path, name).read() if kind == "file" else b""
        found[full] = (kind, s.mode, s.uid, s.gid, data)
        if kind == "dir":
            found |= _seen(files, full)
    return found


def _real(root: Path) -> Tree:
    found: Tree = {}
    for path in root.rglob("*"):
        s = path.lstat()
        kind = "dir" if path.is_dir() else "file"
        data = path.read_bytes() if path.is_file() else b""
        found[str(path)] = (kind, s.st_mode, s.st_uid, s.st_gid, data)
    return found


def test_what_is_gone_in_a_view_is_missing(world: World) -> None:
    plan = plan_of(world)
    (log_dir,) = planned(broker_of([world.a], str(plan.release)), plan.steps).dirs
    for name in ("gone-0", "gone-0/0.log", "near-0", ".kafka_cleanshutdown"):
        assert log_dir.files.path_type(f"{world.a}/{name}") is None
    assert log_dir.files.path_type(f"{world.b}/far-0/sub") == "dir"
    with pytest.raises(Unreadable):
        log_dir.files.open(f"{world.a}/gone-0/0.log")


def test_a_view_has_files_without_a_time_as_new_as_they_will_be(tmp_path: Path) -> None:
    """As old as 1970, leader epochs counted as those of an older topic of that name, and nothing was said."""
    old, view, path = tmp_path / "old", PlannedView(), str(tmp_path / "leader-epoch-checkpoint")
    old.touch()
    view.replace(path, b"0\n0\n", Fingerprint(kind="file"))
    assert view.file_stat(path).mtime_ns >= old.stat().st_mtime_ns
    view.replace(path, b"0\n0\n", Fingerprint(kind="file", mtime_ns=7))
    assert view.file_stat(path).mtime_ns == 7


def test_a_view_that_was_looked_at_already_sees_each_later_change(tmp_path: Path) -> None:
    """It remembers where the files of a directory are; half of a move must not be remembered."""
    view, first, second = PlannedView(), str(tmp_path / "first"), str(tmp_path / "second")
    os.mkdir(first)
    Path(first, "file").write_bytes(b"1234")

    def sizes() -> list[int | None]:
        found: list[int | None] = []
        for folder in (first, second):
            try:
                found.append(view.file_stat(f"{folder}/file").size)
            except Unreadable:
                found.append(None)
        return found

    assert sizes() == [4, None]
    view.move(first, second)
    assert sizes() == [None, 4]
    view.hide(second)
    assert sizes() == [None, None]
    view.make_dir(first, Fingerprint(kind="dir"))
    assert sizes() == [None, None]
    view.move(first, second)
    assert sizes() == [None, None]


def test_two_plans_are_looked_at_side_by_side(tmp_path: Path) -> None:
    """Each view has its own forecast of the same dir, whose path is that on the disk, and so has the disk."""
    home = str(write_broker(tmp_path, 1, [plain("t", 0), plain("t", 1)]))
    last = f"{home}/t-0/{90:020d}.log"
    cut = CutFile.to(last, disk.file_size(last) // 2, "torn")
    gone = Quarantine.of(f"{home}/t-1", "of a topic that is gone")
    broker = broker_of([home], "4.3")
    brokers = [broker, planned(broker, [cut]), planned(broker, [gone])]
    runs = [forecast(each, ForecastOptions(clean=False)) for each in brokers]
    # One line of each at a time.
    lines = [line for row in zip_longest(*runs) for line in row if isinstance(line, PartitionOutcome)]
    assert {line.dir for line in lines} == {home}
    assert [(line.name, line.after.log_end_offset) for line in lines] == [
        ("t-0", 120), ("t-0", 105), ("t-0", 120), ("t-1", 120), ("t-1", 120),
    ]  # fmt: skip


def test_steps_that_touch_the_same_place_are_known(world: World) -> None:
    found = Neighbours(steps(world))
    patch, transplant, near, far, made, inside = 5, 6, 10, 11, 12, 13
    assert found.of(patch) == {transplant}
    assert found.of(transplant) == {patch}
    assert found.of(near) == found.of(far) == set()
    assert found.of(made) == {inside}
    assert found.of(inside) == {made}


def test_a_recipe_that_changed_its_mind_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    said = [b"as planned", b"otherwise"]
    monkeypatch.setattr(recipes, "build", lambda *_: said.pop(0))
    path = world.a / "cut-0" / "0.index"
    after = look(str(path)).but(size=10, sha256=hash_bytes(b"as planned"))
    step = ReplaceFile(
        path=str(path), before=look(str(path)), after=after,
        reason="rebuilt", recipe="any", log_dir=str(world.a), partition="cut-0",
    )  # fmt: skip
    planned(broker_of([world.a], str(plan_of(world).release)), [step])
    before = path.read_bytes()
    with pytest.raises(SegmendError, match="'any' gives other bytes than it did for the plan"):
        apply(plan_of(world, [step]), str(world.state), fx=Disk())
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"kind": "missing"}, "there is nothing, not a file"),
        ({"size": 2}, "its size is 2, not 1"),
        ({"mode": 0o600}, "its mode is 600, not 644 (chmod 644)"),
        ({"uid": 7}, "its owner is 7, not 0 (chown 0)"),
        ({"mode": 0o600, "gid": 7}, "its group is 7, not 0, its mode is 600, not 644 (chgrp 0, chmod 644)"),
        ({"mode": 0, "size": 2}, "its size is 2, not 1"),
        ({"mtime_ns": 9}, "its modification time is 9, not 5"),
        ({"sha256": "b"}, "its content changed"),
        ({"xattrs": (("user.a", "00"),)}, "its extended attributes changed"),
        ({"sha256": None}, None),
    ],
)
def test_a_fingerprint_says_how_things_differ(change: dict[str, object], said: str | None) -> None:
    one = Fingerprint(kind="file", size=1, mode=0o644, uid=0, gid=0, mtime_ns=5, sha256="a", xattrs=())
    assert one.difference(one.but(**change)) == said
    assert Fingerprint.from_json(json.loads(json.dumps(one.to_json()))) == one


@pytest.mark.parametrize("named", ["0.log.segmend.tmp", "0.log"])
def test_a_copy_whose_bytes_the_power_cut_took_is_made_anew(tmp_path: Path, named: str) -> None:
    """Its size and time may have reached the disk before them."""
    source, other = tmp_path / "a" / "far-0", tmp_path / "b"
    for path in (source, other):
        path.mkdir(parents=True)
    (source / "0.log").write_bytes(b"bytes" * 1000)
    work = Workplace(fx=Disk(other), vault=str(tmp_path), token="0123456789abcdef" * 2)
    part = other / f"segmend-0.{work.token}-delete"
    part.mkdir()
    (part / named).write_bytes(bytes(5000))
    time = (source / "0.log").stat().st_mtime_ns
    os.utime(part / named, ns=(time, time))
    transfer(work, str(source), str(other / "far-0"))
    assert (other / "far-0" / "0.log").read_bytes() == b"bytes" * 1000
    assert [path.name for path in (other / "far-0").iterdir()] == ["0.log"]
    assert not source.exists()
