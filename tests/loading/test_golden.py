"""The forecast of every golden directory against what its own broker did and logged when it restarted."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.brokers import broker_of
from tests.conftest import QUICK, expected, golden_names
from tests.golden.shared import golden

from segmend.loading import DirectoryOutcome, DirOutcome, ForecastOptions, Losses, PartitionOutcome, forecast
from segmend.logdir.release import Release

RECOVERING = re.compile(
    r"(?:partition=(?P<new>\S+?),.*)?Recovering unflushed segment (?P<base>\d+)(?: in log (?P<old>\S+)\.)?"
)
BROKERS = [
    (name, broker)
    for name in golden_names()
    for broker in (("b1", "b2", "b3") if "fleet" in name else ("b1",))
]
"""Said here, since to read what was recorded of all of them takes a second of each worker."""
COMPLETED = re.compile(r"Completed load of log (\S+) with log end offset (\d+)")
Lines = Sequence[Any]


def quick(pairs: Sequence[tuple[str, str]]) -> list[Any]:
    """These brokers' directories; the fast tests take those of the oldest and the newest release."""
    return [
        pair if pair[0] in QUICK | {"4.3.1-clean"} else pytest.param(pair, marks=pytest.mark.slow)
        for pair in pairs
    ]


@pytest.mark.slow
def test_these_are_all_that_were_recorded() -> None:
    assert [
        (name, each) for name in golden_names() for each in expected(name)["restart"]["brokers"]
    ] == BROKERS
    assert [pair for pair in BROKERS if deleted_snapshots(*pair)] == DELETING


def deleted_snapshots(name: str, broker: str) -> set[str]:
    """The producer snapshots that the restart deleted, by its log."""
    logged = expected(name)["restart"]["brokers"][broker]["lines"]
    return {m[1] for m in (re.search(r"state snapshot d\d/(\S+)", line) for line in logged) if m}


KILLED = ("4.3.1-fleet", "b3")
CLEAN = [pair for pair in BROKERS if not pair[0].endswith("-killed") and pair != KILLED]
DELETING = [
    *(("3.9.2-clean", "b1"), ("3.9.2-killed", "b1"), ("4.3.1-clean", "b1"), ("4.3.1-fleet", "b1")),
    *(("4.3.1-fleet", "b2"), ("4.3.1-killed", "b1")),
]
"""Said here for the same reason."""

TURNS = ["0.8.2", "0.9", "0.10.2", "1.1", "2.0", "2.2", "2.3", "2.8"]
TURNS += ["3.0", "3.6", "3.7.1", "3.9", "4.0", "4.3", "4.4"]
"""Releases before and after brokers changed what they do."""


def readers(name: str) -> list[str]:
    """The releases that can read a golden directory: its own and later ones, with ZooKeeper up to 3.9."""
    own = Release.parse(name.partition("-")[0])
    last = Release.parse("3.9" if own < (3, 3) else "4.4")
    return [
        turn
        for turn in TURNS
        if Release.parse(turn).padded[:2] >= own.padded[:2] and Release.parse(turn) <= last
    ]


EVERY_READER = [
    pytest.param(
        *(name, broker, by),
        marks=[] if name.endswith("-killed") and by == readers(name)[-1] else pytest.mark.slow,
    )
    for name, broker in BROKERS
    for by in readers(name)
]


SMALL_SEGMENTS = "3.9"
"""Goldens whose metadata knows topics with segments of 4 KiB, which no release takes from 4.1 on."""


def start(root: Path, name: str, *, by: str | None = None, **options: Any) -> Lines:
    """The lines of a forecast by the rules of a release, by default the golden's own."""
    broker = broker_of(sorted(root.glob("d*")), by or name.partition("-")[0])
    return list(forecast(broker, ForecastOptions(**options)))


def told(name: str, broker: str) -> dict[str, dict[str, int]]:
    """Offsets by partition as clients saw them after the restart; as its log tells where none could ask."""
    restart = expected(name)["restart"]
    seen: dict[str, dict[str, int]] = restart["partitions"]
    loaded = filter(None, map(COMPLETED.search, restart["brokers"][broker]["lines"]))
    return seen or {found[1]: {"log_end_offset": int(found[2])} for found in loaded}


def effects(lines: Lines, name: str) -> list[Any]:
    told = (line for line in lines if isinstance(line, PartitionOutcome | DirectoryOutcome))
    return [(line, effect) for line in told for effect in line.effects if effect.effect == name]


@pytest.fixture(scope="module", params=quick(BROKERS), ids="-".join)
def case(request: pytest.FixtureRequest) -> tuple[str, str, Lines]:
    name, broker = request.param
    return name, broker, start(golden(name) / broker, name)


def nothing_is_lost(lines: Lines) -> None:
    """It starts, and not one record is lost."""
    assert lines[-1].starts
    assert (lines[-1].lost, lines[-1].unserved, lines[-1].unknown) == (Losses(), 0, ())
    assert all(line.online for line in lines if isinstance(line, DirOutcome))
    assert not [line for line in lines if isinstance(line, PartitionOutcome) and line.matters]


def test_it_starts_and_nothing_is_lost(case: tuple[str, str, Lines]) -> None:
    nothing_is_lost(case[2])


@pytest.mark.parametrize(("name", "broker", "by"), EVERY_READER)
def test_every_release_that_can_read_it_loses_nothing(name: str, broker: str, by: str) -> None:
    lines = start(golden(name) / broker, name, by=by)
    if name.startswith(SMALL_SEGMENTS) and Release.parse(by) >= (4, 1):
        refusal = "Invalid value 4096 for configuration segment.bytes: Value must be at least 1048576 (topic "
        assert str(lines[-1].reason).startswith(refusal)
    else:
        nothing_is_lost(lines)


def test_offsets_are_those_of_the_broker(case: tuple[str, str, Lines]) -> None:
    name, broker, lines = case
    real = told(name, broker)
    ours = {line.name: line for line in lines if isinstance(line, PartitionOutcome)}
    assert len(ours) > (5 if name.startswith("0.8") else 20)
    for partition, line in ours.items():
        after = {"log_start_offset": line.after.log_start_offset, "log_end_offset": line.after.log_end_offset}
        seen = {key: offset for key, offset in real[partition].items() if key in after}
        assert after.items() >= seen.items() > set()
        assert line.before.log_end_offset == line.after.log_end_offset


def test_the_recovery_scans_are_those_it_logs(case: tuple[str, str, Lines]) -> None:
    name, broker, lines = case
    logged = expected(name)["restart"]["brokers"][broker]["lines"]
    found = [match for match in map(RECOVERING.search, logged) if match]
    theirs = [(match["new"] or match["old"], match["base"]) for match in found]
    ours = [(f"{o.topic}-{o.partition}", str(effect.offset)) for o, effect in effects(lines, "recovery-scan")]
    assert sorted(ours) == sorted(theirs)
    assert theirs or not name.endswith("-killed")


def test_index_warnings_are_those_it_logs(case: tuple[str, str, Lines]) -> None:
    name, broker, lines = case
    warned = expected(name)["restart"]["brokers"][broker]["startup_warnings"]
    rebuilt = effects(lines, "index-rebuilt")
    theirs = sorted(each["file"].rpartition(".")[0] for each in warned)
    assert sorted(effect.file.rpartition(".")[0] for _, effect in rebuilt) == theirs
    said = {re.sub(r"d\d/", "", each["line"]).partition(" due to ")[2].partition("}")[0] for each in warned}
    assert {effect.broker_says.partition(" due to ")[2].partition("}")[0] for _, effect in rebuilt} == said


@pytest.mark.parametrize("case", quick(CLEAN), ids="-".join, indirect=True)
def test_a_clean_start_touches_next_to_nothing(case: tuple[str, str, Lines]) -> None:
    """Without a crash only snapshots nobody needs go, and epochs below the log start."""
    _, _, lines = case
    assert all(line.clean_shutdown for line in lines if isinstance(line, DirOutcome))
    seen = {effect.effect for line in lines if isinstance(line, PartitionOutcome) for effect in line.effects}
    assert seen <= {"snapshot-deleted", "epochs-rewritten"}


@pytest.mark.parametrize("case", quick(DELETING), ids="-".join, indirect=True)
def test_deleted_snapshots_are_those_it_logs(case: tuple[str, str, Lines]) -> None:
    """Releases from 3.x on log each one; ours are the ones gone in the end, theirs may come back."""
    name, broker, lines = case
    theirs = deleted_snapshots(name, broker)
    ours = {effect.file for _, effect in effects(lines, "snapshot-deleted")}
    assert {file for file in ours if "-delete/" not in file} <= theirs


def test_deep_finds_no_fault_either(case: tuple[str, str, Lines]) -> None:
    name, broker, _ = case
    lines = start(golden(name) / broker, name, deep=True)
    assert not effects(lines, "reads-fail")
