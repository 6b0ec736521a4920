"""`plan quorum` against real quorums of three: plans today as when real nodes were started on them.

What a plan promised then came true: where the log ends, in which epoch one leads, topics and records.
"""

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from segmend.api import open as open_dir
from segmend.formats.schema import messages
from segmend.node.metadata_copy import MetadataCopy
from segmend.topics.metadata import RECORDS
from tests.checks.build_partition import batch, record
from tests.cli.run import run
from tests.copies import copy_tree
from tests.lab.ports import wait_until_free
from tests.lab.quorums import older
from tests.lab.quorums.base import METADATA
from tests.lab.quorums.record import recorded, unpacked
from tests.lab.quorums.trial import Case, Scene, play
from tests.real.conftest import need_kafka
from tests.seeds import SWEEP
from tests.surgery.desk import left_code_of
from tests.topics.rendered import framed

CHANGE = "PARTITION_CHANGE_RECORD"
FEW, SOME = 40, 3
"""The fast tests take one in so many, CI one, a sweep all."""
OLD = (Case("3.3.2", 3, "from", ("all-gone",)), Case("3.3.2", 1, "alone", ("log-flip@0.3",)))
LIVE = (
    Case("4.3.1-dynamic", 1, "alone", ("log-flip@0.3",)), Case("3.9.2", 3, "from", ("all-gone",)),
    *(OLD if SWEEP else ()),
)  # fmt: skip


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bases")


def params() -> Iterator[Any]:
    for number, (case, row) in enumerate(recorded()):
        name = " ".join(map(str, row["case"]))
        yield pytest.param(case, row, id=f"{number} {name}")


def test_all_that_was_promised_came_true() -> None:
    rows = [row for _, row in recorded()]
    assert len(rows) > 50
    assert [row["case"] for row in rows if row["wrong"]] == []


def test_of_drawn_voters_out_of_a_backup_the_forecast_said_so() -> None:
    rows = [json.loads(line) for line in older.TRIALS.read_text().splitlines()]
    assert len({row["base"] for row in rows}) > 4
    assert any(row["twice"] for row in rows), "an epoch with two leaders"
    assert any(row["lost"] for row in rows)
    assert [row for row in rows if row["wrong"]] == []


@pytest.mark.parametrize(("case", "row"), [
    pytest.param(*each.values, id=each.id, marks=() if number % FEW == 0 else pytest.mark.slow)
    for number, each in enumerate(params())
    if SWEEP or number % FEW == 0 or number % SOME == 0
])  # fmt: skip
def test_it_promises_the_same(case: Case, row: dict[str, Any], bases: Path, tmp_path: Path) -> None:
    scene = Scene.of(case, unpacked(case.base, bases / case.base), tmp_path)
    told = scene.plan()
    start = left_code_of(scene.plan_file) if told.exit in (0, 4) else 0  # recorded before it was counted
    assert (told.exit, told.promised) == (row["exit"] | start, row["promised"])


def test_no_further_copy_is_asked_for_where_every_voter_s_was_given(bases: Path, tmp_path: Path) -> None:
    """Its own is the newest, and cut short. Real nodes of 3.3.2 came up with all of it."""
    case = Case("3.3.2", 1, "from", ("state-garbage", "log-cut@0.7"))
    told = Scene.of(case, unpacked(case.base, bases / case.base), tmp_path).plan()
    assert (told.exit, told.promised) == (4, {"end": 52}), "what is cut off comes again from the others"


@pytest.mark.parametrize(("name", "told"), [("3.3.2", True), ("3.9.2", False), ("4.3.1", False)])
def test_brokers_of_old_must_forget_the_voters(name: str, told: bool, bases: Path, tmp_path: Path) -> None:
    """A broker of 3.3.2 died of the other voters in its quorum-state, and served all without that file."""
    scene = Scene.of(Case(name, 1, "alone", ()), unpacked(name, bases / name), tmp_path)
    scene.plan()
    notes = json.loads(scene.plan_file.read_text())["notes"]
    assert any("must start without the quorum-state" in note for note in notes) == told


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("3.9.2", "two empty ones elect one another"),
        ("4.3.1", "upgrade --feature kraft.version=1 puts the voters into the log"),
        ("4.3.1-dynamic", "add-controller gives it fellows again"),
    ],
)
def test_a_lone_voter_is_told_how_it_gets_fellows(name: str, told: str, bases: Path, tmp_path: Path) -> None:
    """Real 3.9.2 and 4.0.1 said that they upgraded, and no voter was in the log; in that of 4.1.1 all."""
    scene = Scene.of(Case(name, 1, "alone", ()), unpacked(name, bases / name), tmp_path)
    scene.plan()
    (note,) = [each for each in json.loads(scene.plan_file.read_text())["notes"] if "fellows" in each]
    assert told in note


@pytest.mark.parametrize("name", ["3.3.2", "3.9.2", "4.3.1"])
def test_the_release_is_that_of_the_cluster_where_a_node_has_no_metadata(
    name: str, bases: Path, tmp_path: Path
) -> None:
    """It was the newest that the other files allow, and notes said what such a release needs."""
    scene = Scene.of(Case(name, 1, "both", ("all-gone",)), unpacked(name, bases / name), tmp_path)
    # Before 3.9 nothing but the config has the voters, which is to name this one alone, as a note says.
    assert scene.plan().exit == left_code_of(scene.plan_file)
    assert json.loads(scene.plan_file.read_text())["kafka"] == name.rpartition(".")[0]


@pytest.mark.parametrize("name", ["3.3.2", "3.9.2", "4.3.1"])
def test_a_quorum_with_files_of_an_older_copy_is_no_all_clear(name: str, bases: Path, tmp_path: Path) -> None:
    """Node 1 with the metadata from before `late` was made; real ones of 3.9.2 and 4.3.1 lost such topics."""
    case = Case(name, 1, "own", ())
    scene = Scene.of(case, unpacked(name, bases / name), tmp_path)
    dirs = [node.dirs[0] for node in scene.cluster]
    before = older.Told(run("forecast", "--cluster", *dirs, "--json"))
    assert (before.ran.code, before.alarms, before.fates("late")) == (0, [], {"led"})
    copy_tree(dirs[2] / METADATA, dirs[0] / METADATA)
    state = dirs[0] / METADATA / "quorum-state"
    state.write_text(re.sub('"leader(Id|Epoch)":[0-9]+', r'"leader\1":0', state.read_text()))
    told = older.Told(run("forecast", "--cluster", *dirs, "--json"))
    assert told.ran.code == 4
    assert "it voted in epoch" in told.alarms[0]
    assert (told.fates("late"), told.fates("a")) == ({"leaderless"}, {"unknown"})
    named = run("forecast", "--cluster", *dirs)
    (following,) = [line for line in named.out.splitlines() if "next: " in line]
    assert run(*shlex.split(following.partition("segmend ")[2])[:-1], tmp_path / "plan.json").code == 0


@pytest.mark.parametrize("five", [False, True])
def test_what_one_voter_alone_has_of_the_metadata_counts_once_it_leads(
    bases: Path, tmp_path: Path, five: bool
) -> None:
    """By what node 1 wrote last, only node 3 is in sync, and its copy is gone; 2 can be elected as well.

    Of `five` voters node 2 wrote that, and node 1 once more that all are in sync: either way one is left out
    who looks at the newest metadata and the oldest alone.
    """
    scene = Scene.of(Case("4.3.1", 1, "own", ()), unpacked("4.3.1", bases / "4.3.1"), tmp_path)
    dirs = [node.dirs[0] for node in scene.cluster]
    for node_id in (4, 5) if five else ():
        dirs.append(dirs[2].with_name(f"node-{node_id}"))
        copy_tree(dirs[2], dirs[-1])
        meta = dirs[-1] / "meta.properties"
        meta.write_text(meta.read_text().replace("node.id=3", f"node.id={node_id}"))
    for each in dirs if five else ():
        state = each / METADATA / "quorum-state"
        more = "".join(f',{{"voterId":{node_id}}}' for node_id in (4, 5))
        state.write_text(state.read_text().replace('{"voterId":3}', '{"voterId":3}' + more))
    shutil.rmtree(dirs[2] / "a-0")
    alone = 2 if five else 1
    end = change_isr(dirs[alone - 1], [3])
    if five:
        change_isr(dirs[0], [3])
        change_isr(dirs[0], [1, 2, 3])
    told = older.Told(run("forecast", "--cluster", *dirs, "--json"))
    assert told.quorum["leaders_possible"] == ([1, 2, 3, 4, 5] if five else [1, 2])
    (line,) = [each for each in told.ran.json if (each.get("topic"), each.get("partition")) == ("a", 0)]
    assert line["outcome"] != "led"
    assert line["reason"].startswith(f"if voter {alone} is elected, whose metadata goes on to offset {end}")


def change_isr(home: Path, isr: list[int]) -> int:
    """The last record of this node's metadata is then that these replicas of a-0 are in sync; its end."""
    log_dir = open_dir(str(home))
    log, replica = log_dir.cluster_metadata, log_dir.partition("a-0")
    assert log is not None
    assert replica is not None
    kind, message = next((kind, each) for kind, each in messages(RECORDS).items() if each.name == CHANGE)
    fields = {"partitionId": 0, "topicId": replica.topic_id, "isr": isr, "leader": isr[-1]}
    (epoch, end), change = MetadataCopy.of(log).reached, framed(kind, message, 0, fields)
    path = max((home / METADATA).glob("*.log"))
    path.write_bytes(path.read_bytes() + batch(end, [record(0, None, change)], epoch=epoch))
    return end + 1


@pytest.mark.broker
@pytest.mark.timeout(300)
@pytest.mark.parametrize("case", LIVE, ids=str)
def test_a_quorum_comes_up(case: Case, bases: Path, tmp_path: Path) -> None:
    need_kafka(case.base.partition("-")[0])
    base = unpacked(case.base, bases / case.base)
    wait_until_free([port for pair in ports(base) for port in pair])
    assert play(base, case, tmp_path).wrong == []


@pytest.mark.broker
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", ["3.9.2", *(["4.3.1", "4.3.1-dynamic", "3.9.2-dynamic"] if SWEEP else [])])
def test_a_voter_out_of_a_backup_loses_nothing_and_votes_once(name: str, bases: Path, tmp_path: Path) -> None:
    """Started without `plan quorum` it does: what was committed is not there."""
    need_kafka(name.partition("-")[0])
    base = unpacked(name, bases / name)
    wait_until_free([port for pair in ports(base) for port in pair])
    assert older.played(name, base, tmp_path)["lost"]


def ports(base: Path) -> list[list[int]]:
    found: list[list[int]] = json.loads((base / "base.json").read_text())["ports"]
    return found
