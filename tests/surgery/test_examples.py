"""Each example in the help of surgery run as it is written, where its names are those of golden brokers.

The figures are those of the files: nobody has 40GB here, or lost 900 records. What it is to do is seen on
the disk; then all of it is undone.
"""

from __future__ import annotations

import io
import json
import re
import shlex
import shutil
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest
from tests.cli.run import Ran, run
from tests.copies import copy_tree
from tests.faults.on_disk import flip, flip_at_share, lengthen
from tests.golden.shared import golden
from tests.seeds import some_of
from tests.surgery.checkpoints import drop
from tests.surgery.faulty import Died, Mortal
from tests.surgery.picture import Tree, picture
from tests.surgery.shows.names import stamp
from tests.surgery.test_adopt import set_aside
from tests.surgery.test_balance import disks
from tests.surgery.test_graft import batches, fall_behind, last
from tests.surgery.test_merge import flip_batches

from segmend.formats.build import NewRecord, build_batch
from segmend.state_dir import default_state_dir
from segmend.surgery import ops
from segmend.surgery.execute.apply import apply
from segmend.surgery.execute.runs import find
from segmend.surgery.ops.balance import operation as balance
from segmend.surgery.plan import Plan

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_other_processes")]

REPLICA = "orders-3"
PLACES = {
    "/data/a": "b1/d0", "/data/b": "b1/d1", "/data/c": "", "/data/meta": "b1/d0", "/mnt/b2/data/a": "b2/d0",
    "/mnt/b3/data/a": "b3/d0", "/mnt/b2/data": "b2/d0", "/mnt/b3/data": "b3/d0",
    "/mnt/leader/data/a": "b3/d0",
    "/mnt/leader/orders-3": "b3/d0/orders-3", "/mnt/b2/orders-3": "b2/d0/orders-3",
    "/mnt/b3/orders-3": "b3/d0/orders-3", "/mnt/node2/meta": "b2/d0", "/mnt/node3/meta": "b3/d0",
    "/mnt/spare": "", "/backup": "",
}  # fmt: skip
"""What lies where the examples have it, in the golden fleet; the leader of all is broker 3."""


def examples(*argv: str) -> list[str]:
    """The commands of a help page; what stands behind three spaces says what they do."""
    whole = re.sub(r"\\\n +", "", run(*argv, "--help").out)
    lines = [line.strip() for line in whole.splitlines() if line.startswith("  segmend ")]
    return [re.split(r"   +", line)[0] for line in lines]


def plans_of(name: str) -> list[str]:
    """Those of an operation that make a plan."""
    return [each for each in examples("plan", name) if " plan " in each]


class Stage:
    """An example's files below `root`, where it is run."""

    def __init__(self, root: Path, example: str) -> None:
        self.root, self.example = root, example
        found = (place for place in sorted(PLACES, key=len, reverse=True) if place in example)
        self.places = list(found)
        for place in self.places:
            target = Path(f"{root}{place}")
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists():
                copy_tree(golden("4.3.1-fleet") / PLACES[place], target) if PLACES[place] else target.mkdir()
        self.config = root / "server.properties"
        dirs = ",".join(map(str, self.own))
        self.config.write_text(f"process.roles=broker,controller\nnode.id=1\nlog.dirs={dirs}\n")

    @property
    def own(self) -> list[Path]:
        return [self.at(place) for place in self.places if place.startswith("/data")]

    def at(self, place: str) -> Path:
        return Path(f"{self.root}{place}")

    def look(self) -> Tree:
        """Its log dirs."""
        return {path: row for log_dir in self.own for path, row in picture(log_dir).items()}

    def mine(self, name: str = REPLICA) -> Path:
        return next(log_dir / name for log_dir in self.own if (log_dir / name).exists())

    def run(self, called: Mapping[str, str]) -> Ran:
        """The example, with what is `called` otherwise here."""
        text = self.example
        for old, new in called.items():
            assert old in text
            text = text.replace(old, new)
        words = shlex.split(text)[1:]
        rooted = [re.sub(r"(^|=)(/(?:data|mnt|backup)\b)", rf"\1{self.root}\2", word) for word in words]
        return run(*rooted)


@dataclass(frozen=True)
class Deed:
    """What an example needs, which gives what is called otherwise here, and what has come of it."""

    prepare: Callable[[Stage], Mapping[str, str] | None]
    done: Callable[[Stage], bool]
    during: Callable[[], AbstractContextManager[object]] = nullcontext


def aside(kind: str, *, anew: bool = False, other_id: bool = False) -> Deed:
    """A replica set aside, perhaps with an empty one in its place."""

    def prepare(stage: Stage) -> Mapping[str, str]:
        home = stage.mine()
        if other_id:
            stamp(home)
        name = set_aside(home.parent, REPLICA, kind)
        drop(home.parent, "orders", 3)
        if anew:
            made_empty(home, home.with_name(name))
        return {re.findall(r"orders-3\.\S+", stage.example)[0]: name}

    return Deed(prepare, whole)


def made_empty(home: Path, like: Path) -> None:
    home.mkdir()
    (home / f"{0:020d}.log").touch()
    shutil.copy2(like / "partition.metadata", home)


def whole(stage: Stage) -> bool:
    """Whether the replica has all batches, and the id that the metadata has."""
    theirs = golden("4.3.1-fleet") / "b3/d0" / REPLICA
    ids = [(home / "partition.metadata").read_text() for home in (stage.mine(), theirs)]
    return batches(stage.mine()) == batches(theirs) and len({*ids}) == 1


def is_in(place: str, *names: str) -> Callable[[Stage], bool]:
    return lambda stage: all((stage.at(place) / name / "partition.metadata").exists() for name in names)


def formatted(stage: Stage) -> None:
    """The third log dir is a new disk, which the broker was started on."""
    meta = (stage.at("/data/a") / "meta.properties").read_text()
    text = re.sub(r"(?m)^directory.id=.*$", "directory.id=AAAAAAAAAAAAAAAAAAAAAQ", meta)
    (stage.at("/data/c") / "meta.properties").write_text(text)


def nothing(_stage: Stage) -> None:
    """It is to be done to what lies there."""


def behind(stage: Stage) -> None:
    fall_behind(stage.mine(), 40, torn=5)


def hurt(stage: Stage) -> None:
    flip_batches(stage.mine(), 3)


def broken_index(stage: Stage) -> None:
    max(stage.mine().glob("*.index")).unlink()


def torn(stage: Stage) -> None:
    lengthen(last(stage.mine())[0], bytes(range(70)))


def hurt_last(stage: Stage) -> None:
    """With whole batches behind it."""
    log, found = last(stage.mine())
    flip(log, found[0].end - 3, 0x10)
    (stage.mine().parent / ".kafka_cleanshutdown").unlink(missing_ok=True)


def lost(count: str, hurt: Callable[[Stage], None]) -> Callable[[Stage], Mapping[str, str]]:
    """The figure that the plan asks for, in place of that of the example."""

    def prepare(stage: Stage) -> Mapping[str, str]:
        hurt(stage)
        said = stage.run({f" --accept-loss {count}-records": ""})
        figure = re.search(r"--accept-loss (\d+)-records", said.out + said.err)
        assert figure, said
        return {f"{count}-records": f"{figure[1]}-records"}

    return prepare


def waiting(stage: Stage) -> Mapping[str, str]:
    """A directory that waits for its deletion."""
    home = stage.at("/data/a") / "clicks-3"
    shutil.copytree(home, home.with_name(f"gone-0.{'0' * 32}-delete"))
    return {"40GB" if "40GB" in stage.example else "2GB": "1KB"}


def freed(stage: Stage) -> bool:
    return not any(stage.at("/data/a").glob("*-delete"))


def restored(stage: Stage) -> Mapping[str, str]:
    """As if these disks came from another cluster: the metadata knows the topic by the new name only."""
    new = re.findall(r"--to '?([\w{}-]+)", stage.example)[0]
    for home in [path for log_dir in stage.own for path in log_dir.glob("orders-*")]:
        # "restored" is the topic "orders" here, and what was "orders" is "ders".
        old = home.rename(home.with_name(home.name.replace("orders", "ders")))
        stamp(old)
        drop(home.parent, "orders", int(home.name.rpartition("-")[2]))
        if "--replace" in stage.example and home.name == REPLICA:
            home.mkdir()
            (home / f"{0:020d}.log").touch()
    one = {"/orders-3": "/ders-3"} if "/orders-3" in stage.example else {}
    called = {"--topic orders": "--topic ders", "--topic 'orders*'": "--topic 'ders*'"}
    return {**one, **{old: new for old, new in called.items() if old in stage.example},
            f"{new}": "or{topic}" if "{" in new else "orders"}  # fmt: skip


def renamed(stage: Stage) -> bool:
    copies = list(stage.at("/data/a").glob("ders-3"))
    return whole(stage) and (len(copies) == 1) is ("--copy" in stage.example)


def wrong_ids(lost: str = "") -> Callable[[Stage], Mapping[str, str]]:
    """Other nodes may lead all topics of the fleet: what they may cut is given up, unless proven."""

    def prepare(stage: Stage) -> Mapping[str, str]:
        for log_dir in stage.own:
            for home in log_dir.glob("orders-*"):
                stamp(home)
        told = "JTJWqc3YQ3mqoxqVcVOkXg"
        right = (golden("4.3.1-fleet") / "b3/d0" / REPLICA / "partition.metadata").read_text().split()[-1]
        figure = {"restamp ": f"restamp --accept-loss {lost}-records "} if lost else {}
        return {**figure, **({told: right} if told in stage.example else {})}

    return prepare


def unclean(stage: Stage) -> None:
    """The newest leader is broker 3, or this one, which never had the last records."""
    preferred = "--prefer" in stage.example
    log, found = last(stage.mine() if preferred else stage.at("/mnt/b3/data") / REPLICA)
    at = found[-1]
    records = [NewRecord(value=b"of the new leader") for _ in range(at.last_offset_delta + 1)]
    data = log.read_bytes()[: at.position]
    log.write_bytes(data + build_batch(records, base_offset=at.base_offset, leader_epoch=9))
    epochs = log.with_name("leader-epoch-checkpoint")
    _, count, *rows = epochs.read_text().splitlines()
    epochs.write_text("\n".join(["0", str(int(count) + 1), *rows, f"9 {at.base_offset}", ""]))


def left_aside(stage: Stage) -> bool:
    return any((stage.at("/backup/lost") / REPLICA).glob("*.log"))


METADATA = "__cluster_metadata-0"


def hurt_metadata(kind: str) -> Callable[[Stage], None]:
    def prepare(stage: Stage) -> None:
        home = stage.at("/data/meta") / METADATA
        flip_at_share(max(home.glob(f"*.{kind}")), 0.5)
        with open(stage.config, "a") as config:
            config.write("controller.quorum.voters=1@h:1,2@h:2,3@h:3\n")
        if "--gone" in stage.example:
            (home / "quorum-state").unlink()

    return prepare


def extra(stage: Stage) -> bool:
    """The plan speaks of where the log ends, and the voters that are left."""
    made = json.loads((stage.root / "plan.json").read_text())["extra"]["quorum"]
    return bool(made["end"])


def meta_of(place: str, **wanted: str) -> Callable[[Stage], bool]:
    def done(stage: Stage) -> bool:
        text = (stage.at(place) / "meta.properties").read_text()
        return all(f"{key.replace('_', '.')}={value}" in text for key, value in wanted.items())

    return done


def cloned(stage: Stage) -> None:
    for log_dir in stage.own[1:]:
        shutil.copy2(stage.own[0] / "meta.properties", log_dir)


def nameless(stage: Stage) -> None:
    (stage.at("/data/b") / "meta.properties").write_text("version=1\nnode.id=7\n")


def roomy() -> AbstractContextManager[object]:
    """Each log dir has a disk of its own."""
    return patch.object(balance, "file_systems", disks(4_000_000, room=10**12))


def gone(*names: str) -> Callable[[Stage], bool]:
    return lambda stage: not any((place / name).exists() for place in stage.own for name in names)


def done_well(stage: Stage) -> bool:
    """No error is left."""
    ran = run("check", "--deep", *stage.own, "--json")
    return not any(row["severity"] == "error" for row in ran.of("finding"))


DEEDS: Mapping[str, tuple[Deed, ...]] = {
    "adopt": (aside("stray"), aside("stray", anew=True), aside("delete", other_id=True)),
    "balance": (
        Deed(formatted, lambda stage: any(stage.at("/data/c").glob("*-[0-9]")), roomy),
        Deed(lambda _: {"50GB": "1KB"}, lambda stage: len(stage.own) == 2, roomy),
    ),
    "delete": (
        Deed(lambda stage: {"delete ": "delete --accept-loss 880-records "}, gone(REPLICA)),
        Deed(nothing, gone("orders-0", "orders-3", "orders-5")),
        Deed(lambda _: {"120-records": "880-records"}, gone(REPLICA)),
    ),
    "drain": (
        Deed(formatted, lambda stage: not any(stage.at("/data/a").glob("orders-*"))),
        Deed(nothing, is_in("/data/b", "orders-3", "orders-0", "clicks-3")),
    ),
    "free": (Deed(waiting, freed),) * 3,
    "graft": (
        Deed(behind, whole),
        Deed(lambda stage: shutil.rmtree(stage.mine()), is_in("/data/b", REPLICA)),
        Deed(behind, whole),
    ),
    "identity": (
        Deed(cloned, lambda stage: done_well(stage)),
        Deed(nameless, meta_of("/data/b", node_id="1", directory_id="")),
        Deed(nothing, meta_of("/data/b", node_id="3")),
        Deed(nothing, lambda stage: not meta_of("/data/b", directory_id="cvMN9TIF0ytEXpyxvioyXA")(stage)),
    ),
    "merge": (
        Deed(hurt, whole),
        Deed(unclean, left_aside),
        Deed(lost("900", unclean), left_aside),
        Deed(behind, whole),
    ),
    "move": (
        Deed(nothing, is_in("/data/b", "orders-3")),
        Deed(nothing, is_in("/data/b", "orders-3", "orders-4")),
        Deed(nothing, is_in("/data/b", "orders-3")),
    ),
    "quorum": (
        Deed(hurt_metadata("checkpoint"), extra),
        Deed(hurt_metadata("log"), extra),
        Deed(hurt_metadata("log"), extra),
        Deed(hurt_metadata("checkpoint"), extra),
        Deed(hurt_metadata("checkpoint"), extra),
    ),
    "rename": (Deed(restored, renamed),) * 4,
    "repair": (
        Deed(broken_index, done_well),
        Deed(broken_index, done_well),
        Deed(broken_index, done_well),
        Deed(hurt, whole),
        Deed(hurt, whole),
        Deed(lost("7", hurt), done_well),
    ),
    "restamp": (
        Deed(wrong_ids("5280"), whole),
        Deed(wrong_ids("5280"), whole),
        Deed(wrong_ids("2640"), whole),
        Deed(wrong_ids(), whole),
    ),
    "trim": (Deed(torn, done_well), Deed(torn, done_well), Deed(lost("120", hurt_last), done_well)),
}


def every() -> list[tuple[str, int]]:
    return [(name, number) for name in DEEDS for number in range(len(DEEDS[name]))]


def test_no_example_is_left_out() -> None:
    found = {name: len(plans_of(name)) for name in ops.names()}
    assert found == {name: len(deeds) for name, deeds in DEEDS.items()}


@pytest.fixture
def home(tmp_path: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where commands are given; the state directory and `/mnt/spare` are on another disk."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(elsewhere))
    (tmp_path / "mnt").mkdir()
    (tmp_path / "mnt" / "spare").symlink_to(elsewhere)
    return tmp_path


@pytest.mark.parametrize(("name", "number"), some_of(every(), 4))
def test_it_does_what_it_says(name: str, number: int, home: Path) -> None:
    stage = Stage(home, plans_of(name)[number])
    deed = DEEDS[name][number]
    called = deed.prepare(stage) or {}
    before = stage.look()
    with deed.during():
        ran = stage.run(called)
    assert ran.code in (0, 4), ran
    assert json.loads(Path("plan.json").read_text())["steps"], ran
    run("apply", "plan.json", "--yes", code=5 if ran.code else 1)
    assert deed.done(stage)
    run("undo", "--yes", code=0)
    assert stage.look() == before


MOVE = "segmend plan move /data/a /data/b --partition orders-3 --to /data/b -o plan.json"


class Terminal(io.StringIO):
    """Somebody who says yes."""

    def isatty(self) -> bool:
        return True


def given(stage: Stage, example: str, monkeypatch: pytest.MonkeyPatch, **called: str) -> Ran:
    """An example on the same files."""
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    stage.example = example
    return stage.run(called)


def is_moved(stage: Stage) -> bool:
    return is_in("/data/b", REPLICA)(stage)


@pytest.mark.parametrize("number", range(4))
def test_those_of_apply(number: int, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage, example = Stage(home, MOVE), examples("apply")[number]
    stage.run({})
    before, dry = stage.look(), "--dry-run" in example
    ran = given(stage, example, monkeypatch)
    assert (ran.code, is_moved(stage)) == ((0, False) if dry else (1, True)), ran
    assert (home / "mnt/spare/segmend").exists() is ("--backup-dir" in example or not dry)
    if dry:
        assert stage.look() == before
    elif "--json" in example:
        assert ran.json[-1]["type"] == "applied"


def test_that_of_apply_by_a_journal(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed on the way, and the plan's file is lost."""
    *whole, example = examples("apply")
    assert len(whole) == 4
    stage = Stage(home, MOVE)
    before = stage.look()
    stage.run({})
    with pytest.raises(Died):
        apply(Plan.load("plan.json"), default_state_dir(), fx=Mortal(60))
    assert stage.look() != before
    assert not is_moved(stage)
    Path("plan.json").unlink()
    journal = find(default_state_dir(), None).called
    ran = given(stage, example, monkeypatch, **{"0003-trim-5d1f0c2a": journal})
    assert (ran.code, is_moved(stage)) == (1, True), ran
    run("undo", "--yes", code=0)
    assert stage.look() == before


@pytest.mark.parametrize("number", range(4))
def test_those_of_undo(number: int, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage, example = Stage(home, MOVE), examples("undo")[number]
    before = stage.look()
    stage.run({})
    ran = run("apply", "plan.json", "--yes", code=1)
    journal = re.findall(r"segmend undo (\S+)", ran.out)[0]
    called = {"0003-trim-5d1f0c2a": journal, "/data/kafka-a": "/data/a"}
    ran = given(stage, example, monkeypatch, **{old: new for old, new in called.items() if old in example})
    assert (ran.code, is_moved(stage)) == (0, "--dry-run" in example), ran
    assert (stage.look() == before) is not is_moved(stage)
    assert len(examples("undo")) == 4


def test_that_of_compose(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = examples("plan", "compose")
    stage = Stage(home, plans_of("trim")[0])
    torn(stage)
    max((stage.at("/data/b") / "orders-1").glob("*.index")).unlink()
    before = stage.look()
    stage.run({"plan.json": "trim.json"})
    given(stage, plans_of("repair")[0], monkeypatch, **{"plan.json": "repair.json"})
    assert given(stage, example, monkeypatch).code == 0
    run("apply", "plan.json", "--yes", code=1)
    assert run("check", *stage.own).code == 0
    run("undo", "--yes", code=0)
    assert stage.look() == before


def test_those_of_reverse_and_show(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(home, MOVE)
    stage.run({})
    (shown,) = examples("plan", "show")
    assert "orders-3" in given(stage, shown, monkeypatch).out
    journal = re.findall(r"segmend undo (\S+)", run("apply", "plan.json", "--yes", code=1).out)[0]
    lengthen(last(stage.mine())[0], b"since")
    assert run("undo", "--yes").code == 8
    first, second = examples("plan", "reverse")
    assert given(stage, first, monkeypatch).code == 4, "a start cuts off what came, as is said"
    one = (home / "back.json").read_bytes()
    assert given(stage, second, monkeypatch, **{"0003-move-5d1f0c2a": journal}).code == 4
    assert (home / "back.json").read_bytes() == one
    run("apply", "back.json", "--yes", code=5)
    assert last(stage.at("/data/a") / REPLICA)[0].read_bytes().endswith(b"since")


def test_those_of_journal_and_quarantine(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = Stage(home, plans_of("free")[0])
    called = waiting(stage)
    stage.run(called)
    run("apply", "plan.json", "--yes", code=1)
    (listed,) = examples("journal")
    assert "free" in given(stage, listed, monkeypatch).out
    listed, restored, discarded = examples("quarantine")
    assert "gone-0" in given(stage, listed, monkeypatch).out
    assert given(stage, restored, monkeypatch, **{"0003/2": "0001/1"}).code in (0, 4)
    run("apply", "plan.json", "--yes", code=1)
    assert not freed(stage)
    run("undo", "2", "--yes", code=0)
    assert given(stage, discarded, monkeypatch, **{"0003": "0001"}).code == 1
    assert not any(home.glob("mnt/spare/**/*-delete"))
