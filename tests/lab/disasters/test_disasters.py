"""The recorded disasters against today's forecast, without a broker; wrong forecasts are caught."""

import contextlib
import copy
import itertools
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from segmend.loading.state import LoadState
from segmend.logdir import disk
from tests.cli.run import run
from tests.conftest import one_in
from tests.lab.disasters.bases import RELEASES
from tests.lab.disasters.compare import NOT_COMPARED, differing, disagreements, wrong
from tests.lab.disasters.draw import Disaster, drawn, of_another
from tests.lab.disasters.files import Tree, fingerprint, look
from tests.lab.disasters.judge import Judge
from tests.lab.disasters.known import EXEMPT, LEFT_OPEN, UNKNOWN, reasons
from tests.lab.disasters.matrix import agreements, covering, replayable, telling, wounds_of
from tests.lab.disasters.run import STALE, compared, hurt_copy, record, rows_of, scratch
from tests.lab.disasters.said import Said, said
from tests.lab.disasters.shrunk import NAMED
from tests.seeds import SWEEP, some_of

EACH = 80
"""The fast tests take one disaster of so many; the slow ones those that are `telling`, a sweep all."""
RECORDED = [version for version in RELEASES if record(version).exists()]


def unknown(version: str, found: dict[int, list[str]]) -> dict[int, list[str]]:
    """The disagreements that are not listed; what was named as unknown is none."""
    points = {number: wrong(all_of) for number, all_of in found.items() if number not in reasons(version)}
    return {number: each for number, each in points.items() if each}


def assert_left_open(version: str, found: dict[int, list[str]]) -> None:
    """Of none but the listed ones: a rule that names more as unknown would hide that it is wrong."""
    needed = {number for number, points in found.items() if differing(points) != wrong(points)}
    named = {
        number for number, points in found.items() if [*named_as_unknown(points)] and not differing(points)
    }
    assert needed == {*LEFT_OPEN.get(version, ())} & found.keys()
    assert named == {*UNKNOWN.get(version, ())} & found.keys()
    passed = {
        number for number, points in found.items() if any(each.startswith(NOT_COMPARED) for each in points)
    }
    assert passed == {*EXEMPT.get(version, ())} & found.keys()


def named_as_unknown(points: list[str]) -> list[str]:
    """What is neither wrong nor passed over."""
    return [each for each in points if not each.startswith(NOT_COMPARED)]


@pytest.mark.sample
@pytest.mark.parametrize("version", RECORDED[::4])
def test_some_disasters_end_as_forecast(version: str) -> None:
    found = agreements(version, replayable(version)[::EACH])
    assert unknown(version, found) == {}
    assert_left_open(version, found)


@pytest.mark.slow
@pytest.mark.parametrize("version", RECORDED)
def test_every_disaster_ends_as_forecast(version: str) -> None:
    rows = [row for row in replayable(version) if SWEEP or row["n"] in telling()[version]]
    found = agreements(version, rows)
    assert unknown(version, found) == {}
    assert_left_open(version, found)
    assert [number for number in reasons(version) if number in found and not wrong(found[number])] == [], (
        "no longer wrong: take them out"
    )


@pytest.mark.parametrize("name", one_in(3, NAMED))
def test_what_was_learnt_stays_known(name: str, all_cases: bool) -> None:
    root = scratch("learnt")  # where any user comes in
    for version, number in list(NAMED[name].items())[: None if all_cases else 1]:
        row = next((row for row in replayable(version) if row["n"] == number), None)
        if row is not None:
            assert wrong(compared(Disaster.from_json(version, row), row["verdict"], root)) == []
    shutil.rmtree(root, ignore_errors=True)


def test_an_empty_dir_under_zookeeper_is_no_all_clear(tmp_path: Path) -> None:
    row = next(row for row in rows_of(record("1.1.0")) if row["n"] == 16)
    scene = hurt_copy(Disaster.from_json("1.1.0", row), tmp_path / "one")
    mine = said("1.1.0", scene, None, row["verdict"]["order"])
    assert [each for each in mine.broker["unknown"] if "ZooKeeper" in each]
    points = disagreements(row["verdict"], look(scene.root), mine)
    assert points
    assert not wrong(points)


@pytest.mark.parametrize("version", RELEASES)
def test_a_draw_is_the_same_each_time(version: str) -> None:
    first, again = (list(itertools.islice(drawn(version, 3), 20)) for _ in range(2))
    assert first == again
    assert [Disaster.from_json(version, each.to_json()) for each in first] == first


def test_those_of_another_release_have_numbers_of_their_own() -> None:
    pairs = [
        itertools.islice(of_another("4.3.1", writer, seed), 20)
        for writer in ("3.9.2", "4.0.1")
        for seed in (7, 8)
    ]
    found = [each for pair in pairs for each in pair]
    assert len({each.number for each in found}) == 80
    assert {(each.version, each.writer) for each in found} == {("4.3.1", "3.9.2"), ("4.3.1", "4.0.1")}
    assert all(Disaster.from_json("4.3.1", each.to_json()) == each for each in found)


@pytest.mark.slow
@pytest.mark.parametrize("version", RELEASES)
def test_an_upgrade_over_damage_is_told_as_the_start_was(version: str) -> None:
    """`explain upgrade` of dirs that another release wrote, where that is all that a start hangs on."""
    root = scratch("upgrade")
    for row in [row for row in rows_of(record(version)) if row["kind"] == "pair"][::4]:
        scene = hurt_copy(Disaster.from_json(version, row), root)
        settings = Judge(version, scene).configuration().items()
        (root / "server.properties").write_text("".join(f"{key}={value}\n" for key, value in settings))
        ran = run(
            "explain", "upgrade", *scene.dirs, "--from", row["of"], "--to", version, "--json",
            "--config", root / "server.properties",
        )  # fmt: skip
        (told,) = ran.of("broker")
        assert told["outcome"] == row["verdict"]["outcome"] or told["unknown"], row["n"]
    shutil.rmtree(root, ignore_errors=True)


def with_every_wound() -> list[Disaster]:
    """As few recorded disasters as have every wound that any has, in dirs of every release."""
    every = [Disaster.from_json(version, row) for version in RECORDED for row in replayable(version)]
    return covering(every, lambda each: {each.writer, *wounds_of(each)})


@pytest.mark.slow
def test_wounds_hurt_what_they_hurt_when_they_were_recorded() -> None:
    """Each wound and each base once; the other records are held as they are compared."""
    root, found = scratch("wounds"), with_every_wound()
    assert all(each.hurt for each in found)
    hurt = {each: fingerprint(look(hurt_copy(each, root).root)) for each in found}
    shutil.rmtree(root)
    assert [each.command() for each, now in hurt.items() if now != each.hurt] == []


def test_a_record_of_other_files_is_told(tmp_path: Path) -> None:
    row = rows_of(record("3.3.2"))[0]
    disaster = Disaster.from_json("3.3.2", row)
    assert STALE not in compared(disaster, row["verdict"], tmp_path / "one")
    another = replace(disaster, wounds=(*disaster.wounds, "torn-empty@f001#7"))
    assert wrong(compared(another, row["verdict"], tmp_path / "one"))[0] == STALE


@pytest.mark.parametrize("listed", [dict, lambda entries: dict(reversed(entries.items()))])
def test_directories_count_as_listed_where_the_broker_started(
    listed: Callable[[dict[str, Any]], dict[str, Any]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    listing = disk.listing
    monkeypatch.setattr(disk, "listing", lambda path: listed(listing(path)))
    row = next(row for row in rows_of(record("3.3.2")) if row["n"] == 7)
    disaster, verdict = Disaster.from_json("3.3.2", row), row["verdict"]
    assert compared(disaster, verdict, tmp_path / "one") == []
    turned = {name: numbers[::-1] for name, numbers in verdict["order"].items()}
    assert compared(disaster, {**verdict, "order": turned}, tmp_path / "one") != []


def later_end(mine: Said) -> None:
    """The log end offset of a partition, and one."""
    line = next(line for line in mine.partitions.values() if line["after"]["log_end_offset"])
    line["after"]["log_end_offset"] += 1


def other_outcome(mine: Said) -> None:
    """Start and refuse swapped."""
    mine.broker["outcome"] = "refuses" if mine.broker["outcome"] == "starts" else "starts"


def without_strays(mine: Said) -> None:
    """No word of strays."""
    for line in mine.of("partition"):
        line["effects"] = [each for each in line["effects"] if each["effect"] != "stray-renamed"]


def all_served(mine: Said) -> None:
    """What is not served called served."""
    for line in mine.of("partition"):
        if line["outcome"] not in ("served", "empty"):
            line["outcome"], line["after"] = "served", line["before"]


def all_online(mine: Said) -> None:
    """No dir offline."""
    for line in mine.of("dir"):
        line["outcome"] = "online"


def nothing_deleted(mine: Said) -> None:
    """The segments that the start deletes kept."""
    for line in mine.of("partition"):
        if line["outcome"] == "served":
            line["effects"] = [each for each in line["effects"] if each["effect"] != "segments-deleted"]


def with_state(mine: Said, change: Callable[[LoadState], object]) -> None:
    """The model of one log changed, in a copy of it."""
    online = {line["dir"] for line in mine.of("dir") if line["outcome"] == "online"}
    served = [place for place in mine.logs if mine.at(place).get("outcome") == "served"]
    served = [each for each in served if each[:2] in online and mine.logs[each].state.epochs.entries]
    place = next(iter(served))
    log = mine.logs[place]
    state = copy.copy(log.state)
    state.segments = [copy.copy(segment) for segment in state.segments]
    state.snapshots, state.epochs = copy.copy(state.snapshots), copy.copy(state.epochs)
    state.snapshots.disk, state.snapshots.known = dict(state.snapshots.disk), dict(state.snapshots.known)
    change(state)
    mine.logs = {**mine.logs, place: replace(log, state=state)}


def longer_segment(state: LoadState) -> None:
    """A byte more in the first segment."""
    state.segments[0].size += 1


def more_snapshots(state: LoadState) -> None:
    """A producer snapshot that is not there."""
    state.snapshots.write(1, {})


def later_sequences(state: LoadState) -> None:
    """A record more of each producer in the snapshots that are written anew."""
    for offset, kept in [*state.snapshots.known.items()]:
        if isinstance(kept, dict):
            more = (each._replace(last_sequence=each.last_sequence + 1) for each in kept.values())
            state.snapshots.write(offset, {each.producer_id: each for each in more})


def fewer_epochs(state: LoadState) -> None:
    """An epoch fewer."""
    state.epochs.entries = state.epochs.entries[1:]


def reads_succeed(mine: Said) -> None:
    """No word of reads that fail."""
    for line in mine.of("partition"):
        line["effects"] = [each for each in line["effects"] if each["effect"] != "reads-fail"]


MUTANTS: dict[str, Callable[[Said], None]] = {
    "log end + 1": later_end,
    "start and refuse swapped": other_outcome,
    "strays dropped": without_strays,
    "unserved called served": all_served,
    "offline dirs online": all_online,
    "deletions dropped": nothing_deleted,
    "a byte more in a segment": lambda mine: with_state(mine, longer_segment),
    "a snapshot more": lambda mine: with_state(mine, more_snapshots),
    "other rows in a snapshot": lambda mine: with_state(mine, later_sequences),
    "reads that fail dropped": reads_succeed,
    "an epoch fewer": lambda mine: with_state(mine, fewer_epochs),
}


SOME = ("reads that fail dropped", "other rows in a snapshot")
"""Not each of these is caught: a consumer from the start does not meet every bad index, not each start writes
a snapshot anew."""


@pytest.fixture(scope="module")
def seen() -> Iterator[list[tuple[dict[str, Any], Tree, Said]]]:
    """Some recorded disasters that the broker survives and the forecast agrees with."""
    root, found = scratch("mutants"), []
    for version in some_of(RECORDED, 2):
        rows = [row for row in replayable(version) if row["verdict"]["outcome"] == "starts"]
        rows = [row for row in rows if row["n"] not in reasons(version)]
        offline = [row for row in rows if "offline" in row["verdict"]]
        stray = [row for row in rows if "stray" in str(row["verdict"])]
        stops = [row for row in rows if "stops" in str(row["verdict"].get("reads"))]
        killed = [row for row in rows if row["stage"] == "killed" and row["kind"] == "power"]
        for row in [*rows[:1], *offline[:1], *stray[:1], *stops[:1], *killed[:1]]:
            disaster = Disaster.from_json(version, row)
            scene = hurt_copy(disaster, root / f"{version}-{row['n']}")
            mine, before = said(version, scene, disaster.uid, row["verdict"]["order"]), look(scene.root)
            assert wrong(disagreements(row["verdict"], before, mine)) == []
            found.append((row["verdict"], before, mine))
    yield found
    shutil.rmtree(root, ignore_errors=True)


@pytest.mark.slow
@pytest.mark.xdist_group("mutants")  # what is `seen` takes ten seconds
@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_forecast_is_caught(name: str, seen: list[tuple[dict[str, Any], Tree, Said]]) -> None:
    done = caught = 0
    for verdict, before, mine in seen:
        mutant = replace(mine, lines=copy.deepcopy(mine.lines))
        with contextlib.suppress(StopIteration):
            MUTANTS[name](mutant)
        if mutant == mine:
            continue
        done += 1
        caught += wrong(disagreements(verdict, before, mutant)) != []
    assert caught
    assert caught == done or name in SOME
