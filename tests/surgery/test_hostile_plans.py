"""A plan is a file from somewhere, applied by root: whatever is in it, nothing but the log dirs is changed.

The hash in a plan stands against accidents, and whoever edits on purpose writes a new one, as here.
"""

import copy
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given
from hypothesis import strategies as st
from tests.cli.run import run
from tests.conftest import examples
from tests.faults.on_disk import move_away
from tests.memory import swift
from tests.seeds import SEED, sampled, some_of
from tests.surgery.picture import picture
from tests.surgery.world import World, make, plan_of, steps

from segmend.surgery.steps.make_dir import MakeDir

SECRET = "not yours"


@pytest.fixture
def world(tmp_path: Path) -> World:
    return _world(tmp_path)


def _world(root: Path) -> World:
    world = make(root)
    (root / "etc").mkdir()
    (root / "etc" / "passwd").write_text(SECRET)
    os.utime(root / "etc", ns=(1, 1))
    return world


def _signed(data: dict[str, Any]) -> bytes:
    data = {key: value for key, value in data.items() if key != "sha256"}
    text = json.dumps(data, sort_keys=True, separators=(",", ":"))
    return json.dumps({**data, "sha256": hashlib.sha256(text.encode()).hexdigest()}).encode()


def _apply(world: World, data: dict[str, Any] | bytes) -> tuple[int, str]:
    file = world.root / "plan.json"
    file.write_bytes(data if isinstance(data, bytes) else _signed(data))
    ran = run("apply", file, "--yes", "--state-dir", world.state)
    if ran.code >= 8:
        assert ran.err.startswith("segmend: "), ran.err
        assert ran.err.count("\n") == 1, ran.err
    return ran.code, ran.err


def _elsewhere(world: World) -> dict[str, Any]:
    """All that is no log dir, and no journal."""
    rows = {**picture(world.root / "etc"), **picture(world.root / "replica")}
    names = {path.name for path in world.root.iterdir()} - {"state", "plan.json"}
    return {**rows, "names": sorted(names)}


def _pointed_at(world: World, path: str, target: str) -> dict[str, Any]:
    """The world's plan, of one kind of step each, with one path for another."""
    return json.loads(json.dumps(plan_of(world).to_json()).replace(json.dumps(path)[1:-1], target))


@pytest.mark.parametrize(
    "path", ["a/append-0/5.log", "a/gone-0", "a/nearer-0", "b/new-0", "b/recovery-point-offset-checkpoint"]
)
def test_a_path_outside_of_the_log_dirs_is_refused(world: World, path: str) -> None:
    before, outside = world.tree(), _elsewhere(world)
    for target in ("{root}/etc/new", "{root}/a/../etc/new", "../../etc/new", "{root}/a/./x", "{root}/b",
                   "//{root}/a/x", "{root}/a/new\\u0000", "{root}/a/\\ud800", ""):  # fmt: skip
        data = _pointed_at(world, str(world.root / path), target.replace("{root}", str(world.root)))
        code, err = _apply(world, data)
        assert code in (8, 16), err
        assert "refused: " in err, err
        assert world.tree() == before
        assert _elsewhere(world) == outside
        assert not world.state.exists()


@pytest.mark.parametrize(
    "target",
    [
        "new",
        "passwd",
        f"{0:020}.log",
        f"cron.d/{0:020}.log",
        "x-0/new",
        f"x-0/../{0:020}.log",
        f"y/x-0/{0:020}.log",
    ],
)
def test_the_place_beside_takes_nothing_but_new_logs(world: World, target: str) -> None:
    before, outside = world.tree(), _elsewhere(world)
    append = _pointed_at(world, str(world.a / "append-0" / "5.log"), f"{world.root}/etc/{target}")
    folder = plan_of(world, [MakeDir.like(f"{world.root}/{target.partition('/')[0]}", str(world.a), "new")])
    for data in (append, folder.to_json()):
        code, err = _apply(world, {**data, "extra": {"side": f"{world.root}/etc"}})
        assert (code, "refused: " in err) == (8, True), err
        assert world.tree() == before
        assert _elsewhere(world) == outside


def test_the_lock_of_a_broker_is_no_step_s(world: World) -> None:
    data = _pointed_at(world, str(world.a / "gone-0"), str(world.a / ".lock"))
    assert "the lock of a broker" in _apply(world, data)[1]


@pytest.mark.parametrize("name", ["cut-0", "append-0", "far-0"])
def test_a_link_where_a_directory_was_is_not_followed(world: World, name: str) -> None:
    data = plan_of(world).to_json()
    move_away(world.a / name, world.root / "moved")
    before = picture(world.root / "moved")
    code, err = _apply(world, data)
    assert code == 8, err
    assert "a symbolic link" in err or "there is a link" in err
    assert picture(world.root / "moved") == before


def test_a_log_dir_that_is_a_link_by_now_is_refused(world: World) -> None:
    data = plan_of(world).to_json()
    move_away(world.b, world.root / "c")
    code, err = _apply(world, data)
    assert (code, "a symbolic link on the way" in err) == (8, True), err


def test_what_is_no_log_dir_is_refused(world: World) -> None:
    """Such as /etc, with a plan that says so itself."""
    data = plan_of(world, []).to_json()
    missing = {"kind": "missing"}
    files = dict.fromkeys(data["dirs"][0]["files"], missing)
    etc = str(world.root / "etc")
    (world.root / "etc" / "dbus-1").mkdir(parents=True)
    data["dirs"] = [{"dir": etc, "path": etc, "files": files}]
    new = {"kind": "dir", "mode": 0o755, "uid": os.getuid(), "gid": os.getgid()}
    data["steps"] = [{"kind": "make_dir", "path": f"{etc}/cron.d", "after": new, "reason": "?"}]
    code, err = _apply(world, data)
    assert (code, "is no log dir" in err) == (8, True), err
    assert not (world.root / "etc" / "cron.d").exists()


@pytest.mark.parametrize("path", ["a\0b", "\ud800", "{root}/a"])
def test_a_log_dir_that_cannot_be_one_is_refused(world: World, path: str) -> None:
    data = plan_of(world).to_json()
    data["dirs"][1]["path"] = path.replace("{root}", str(world.root))
    code, err = _apply(world, data)
    assert (code, "refused: " in err) == (8, True), err
    assert not world.state.exists()


def test_what_a_step_cannot_leave_is_refused_before_the_first_step(world: World) -> None:
    """Else it is seen when the file is written already, and is neither as before nor as after."""
    before, whole = world.tree(), plan_of(world).to_json()
    for number, step in enumerate(whole["steps"]):
        for key, odd in (("kind", "missing"), ("kind", "link"), ("size", 1), ("sha256", "0" * 64)):
            if key in step.get("after", {}):
                data = copy.deepcopy(whole)
                data["steps"][number]["after"][key] = odd
                code, err = _apply(world, data)
                assert code in (8, 16), (step["kind"], key, err)
                assert world.tree() == before
                assert not world.state.exists()


ODD: list[Any] = [
    None, True, -1, 0, 1 << 63, 10**400, 1.5, "", "x", "../../etc/passwd", "/etc/passwd", "a\0b", "\ud800",
    [], {}, [[]], {"kind": "file"}, "{root}/etc/passwd", "{root}/etc/new", "{root}/a", "{root}/a/x",
    "-" * 5000, "{root}/a/../etc/new", json.loads("[" * 40 + "]" * 40), 4294967295,
    0o7777, "dir", "missing",
]  # fmt: skip


_GONE = object()


def _places(data: Any) -> Iterator[tuple[Any, Any]]:
    """Every container with every key in it."""
    keys = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in keys:
        yield data, key
        yield from _places(value)


def _mutated(data: dict[str, Any], draw: st.DataObject, root: Path) -> dict[str, Any]:
    data = copy.deepcopy(data)
    for _ in range(draw.draw(st.integers(1, 2))):
        places = list(_places(data))
        holder, key = places[draw.draw(st.integers(0, len(places) - 1))]
        act = draw.draw(st.sampled_from(["put", "put", "put", "copy", "drop"]))
        if act == "drop":
            del holder[key]
        elif act == "copy":
            other, name = places[draw.draw(st.integers(0, len(places) - 1))]
            holder[key] = copy.deepcopy(other[name]) if name in other or isinstance(other, list) else None
        else:
            holder[key] = _here(draw.draw(st.sampled_from(ODD)), root)
    return data


@pytest.mark.timeout(900)  # on a busy machine
@examples(sampled(500, 200), few=20, suppress_health_check=list(HealthCheck))
@given(draw=st.data())
def test_any_plan_at_all(draw: st.DataObject) -> None:
    """No traceback, nothing changed elsewhere, and an undo brings everything back."""
    with swift() as home:
        root = Path(os.path.realpath(home)) / "w"
        root.mkdir()
        world = _world(root)
        data = _mutated(plan_of(world).to_json(), draw, root)
        _leaves_no_harm(world, data)


@pytest.mark.slow
@pytest.mark.timeout(3600)  # the whole of it in a sweep
def test_each_value_of_a_plan() -> None:
    """Each one left out, and each odd one put into the place of each."""
    with swift() as home:
        whole = list(_places(plan_of(_world(Path(os.path.realpath(home)))).to_json()))
    cells = [(place, odd) for place in range(len(whole)) for odd in (_GONE, *ODD)]
    for place, odd in some_of(cells, each=101, first=SEED):
        with swift() as home:
            world = _world(Path(os.path.realpath(home)))
            data = plan_of(world).to_json()
            holder, key = list(_places(data))[place]
            holder[key] = _here(odd, world.root)
            if odd is _GONE:
                del holder[key]
            _leaves_no_harm(world, data)


def _here(odd: Any, root: Path) -> Any:
    return odd.replace("{root}", str(root)) if isinstance(odd, str) else copy.deepcopy(odd)


def _leaves_no_harm(world: World, data: dict[str, Any]) -> None:
    before, outside = world.tree(), _elsewhere(world)
    shown = world.root / "plan.json"
    shown.write_bytes(_signed(data))
    left = 4 if data.get("left") else 0
    assert run("plan", "show", shown).code in (left, 8, 16)
    shown.unlink()
    code, err = _apply(world, data)
    assert code in (left + bool(data.get("steps")), 8, 16), err
    assert _elsewhere(world) == outside
    undone = run("undo", "--yes", "--state-dir", world.state)
    assert undone.code in ((0,) if code == left + 1 else (0, 16)), (err, undone.err)
    assert world.tree() == before


@examples(60, suppress_health_check=list(HealthCheck))
@given(draw=st.data())
def test_bytes_that_are_no_plan_any_more(world: World, draw: st.DataObject) -> None:
    whole = plan_of(world).render()
    data = bytearray(whole)
    # What is drawn must not depend on the plan: times of directories in it change with every try.
    at = draw.draw(st.integers(0, 100_000)) % len(data)
    act = draw.draw(st.sampled_from(["cut", "set", "double"]))
    more = draw.draw(st.integers(1, 255))
    if act == "cut":
        del data[at:]
    elif act == "set":
        data[at] = (data[at] + more) % 256
    else:
        data[at:at] = data[: at + 1]
    assume(_says(data) != _says(whole))  # other blanks, or the last line end
    code, err = _apply(world, bytes(data))
    assert code in (8, 16), err
    assert not world.state.exists()


def _says(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return None


EVENT: list[Any] = [None, True, -1, 10**30, "x", [], {}, {"a": "b"}, ["x"], [-1], "forward", "told"]


@pytest.mark.slow
@examples(100, few=10, suppress_health_check=list(HealthCheck))
@given(draw=st.data())
def test_any_journal_at_all(draw: st.DataObject) -> None:
    """One line for what cannot be read; what an undo takes back is taken back whole, or not at all."""
    with swift() as home:
        root = Path(os.path.realpath(home)) / "w"
        root.mkdir()
        world = _world(root)
        before, outside = world.tree(), _elsewhere(world)
        assert _apply(world, plan_of(world, steps(world)[:4]).render())[0] == 1
        after = world.tree()
        journal = next(world.state.rglob("journal.jsonl"))
        lines = [json.loads(line) for line in journal.read_text().splitlines()]
        for each in lines:  # as journals of old are, or what is drawn would break the chain alone
            del each["after"], each["sum"]
        line = lines[draw.draw(st.integers(0, len(lines) - 1))]
        key = draw.draw(st.sampled_from([*sorted(line.keys() - {"vaults", "folders"}), "steps"]))
        line[key] = draw.draw(st.sampled_from(EVENT))
        journal.write_text("".join(json.dumps(each) + "\n" for each in lines))
        for argv in (["journal", "list"], ["quarantine", "list"], ["undo", "--yes"]):
            ran = run(*argv, "--state-dir", world.state)
            assert ran.code in ((0, 1, 8, 16) if argv[0] == "undo" else (0, 8, 16)), ran
            assert ran.err.count("\n") <= 1, ran.err
        assert _elsewhere(world) == outside
        assert world.tree() in (before, after) or ran.code == 8
