"""`plan balance`: the log dirs of a broker, each on a disk of its own, made about equally full."""

import json
from dataclasses import replace

import pytest
from tests.surgery.small_fleet import Fleet

from segmend.balancing.solver import Disk
from segmend.node.broker_dirs import BrokerDirs
from segmend.report.plan import plan_lines
from segmend.surgery.ops.balance import operation as balance
from segmend.surgery.plan import Plan

ROOM = 500_000


def disks(capacity: int, *, room: int = ROOM) -> object:
    """Every log dir on a disk of this size, of which nothing else takes any."""

    def file_systems(broker: BrokerDirs) -> list[balance.FileSystem]:
        found = []
        for log_dir in broker.dirs:
            files = (entry for partition in log_dir.partitions for entry in partition.files.values())
            used = sum(entry.stat().allocated for entry in files)
            disk = Disk(capacity=capacity, used=used, available=room)
            found.append(balance.FileSystem(disk=disk, dirs=(log_dir,)))
        return found

    return file_systems


def sizes(fleet: Fleet) -> list[int]:
    return [
        sum(path.stat().st_blocks * 512 for path in log_dir.rglob("*/*") if path.is_file())
        for log_dir in fleet.dirs
    ]


@pytest.fixture
def two_disks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balance, "file_systems", disks(1_000_000))


def ask(fleet: Fleet, *options: object) -> tuple[int, str, str]:
    found = fleet.run("plan", "balance", *fleet.dirs, "-o", fleet.plan_file, *options)
    return found.code, found.out, found.err


@pytest.mark.usefixtures("two_disks")
def test_two_disks_become_equally_full(fleet: Fleet) -> None:
    bytes_before = sizes(fleet)
    assert max(bytes_before) - min(bytes_before) > 50_000
    code, out, err = ask(fleet, "--spread", "5%", "--reserve", "0", "--days", "0")
    assert code == 0, err
    assert "nothing less does it" in out
    rows = fleet.planned()["extra"]["kafka-reassign-partitions"]["partitions"]
    assert {(row["topic"], row["partition"]) for row in rows}
    fleet.apply()
    after = sizes(fleet)
    assert max(after) - min(after) <= 50_000
    assert sum(after) == sum(bytes_before)
    assert fleet.findings() == []
    fleet.undo()


@pytest.mark.usefixtures("two_disks")
def test_the_same_plan_each_time(whole: Fleet) -> None:
    options = ("--spread", "3", "--reserve", "1KB")
    ask(whole, *options)
    first = (whole.root / "plan.json").read_bytes()
    ask(whole, *options)
    assert (whole.root / "plan.json").read_bytes() == first


@pytest.mark.usefixtures("two_disks")
def test_disks_that_are_equal_enough(whole: Fleet) -> None:
    code, out, _ = ask(whole, "--spread", "90%")
    assert code == 0
    assert "within 90.0% of each other already" in out
    assert "nothing to do" in out


@pytest.mark.usefixtures("two_disks")
def test_what_the_broker_was_moving_stays(fleet: Fleet) -> None:
    options = ("--spread", "5%", "--reserve", "1KB", "--days", "0")
    ask(fleet, *options)
    moved = {step["source"].rpartition("/")[2] for step in fleet.planned()["steps"] if "source" in step}
    assert moved
    for name in moved:
        other = next(log_dir for log_dir in fleet.dirs if not (log_dir / name).exists())
        (other / f"{name}.{'0' * 32}-future").mkdir()
    code, _, err = ask(fleet, *options)
    assert code == 0, err
    again = {step["source"].rpartition("/")[2] for step in fleet.planned()["steps"] if "source" in step}
    assert not moved & again


@pytest.mark.usefixtures("two_disks")
def test_no_room_beside_the_reserve(whole: Fleet) -> None:
    code, out, _ = ask(whole, "--spread", "5%", "--reserve", "10GB")
    assert code == 0
    assert "for want of room (--reserve, --days)" in out
    assert "nothing to do" in out


def test_one_disk_is_refused(whole: Fleet) -> None:
    code, out, err = ask(whole)
    assert (code, out) == (16, "")
    assert "one disk only" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "options", [("--spread", "much"), ("--spread", "-1%"), ("--reserve", "x"), ("--days", "-1")]
)
def test_wrong_options(whole: Fleet, options: tuple[str, str]) -> None:
    code, out, err = ask(whole, *options)
    assert (code, out) == (16, "")
    assert options[0] in err


@pytest.mark.usefixtures("two_disks")
def test_the_moves_for_a_running_broker_are_shown_while_a_person_can_read_them(fleet: Fleet) -> None:
    """A thousand of them in one line drown the plan; `--json` has them."""
    assert ask(fleet, "--spread", "5%", "--reserve", "0", "--days", "0")[0] == 0
    plan = Plan.load(str(fleet.plan_file))
    live = plan.extra["kafka-reassign-partitions"]
    many = {**live, "partitions": live["partitions"] * 100}
    few, lots = (
        [*plan_lines(replace(plan, extra={"kafka-reassign-partitions": moves}))][-1] for moves in (live, many)
    )
    assert json.loads(few) == live
    assert lots == f"  --json has it, of {len(many['partitions']):,} partitions"
