"""Two files of one number, of which the order of a listing decides, and numbers far below their records."""

import os
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.faults.patient import Patient
from tests.faults.table import fault_called
from tests.faults.written import ACTIVE, BASES, ROLLED, two_dirs

from segmend.broker.recovery import BY_LISTING
from segmend.cli.main import main
from segmend.loading import ForecastOptions, forecast
from segmend.loading.load import LoadedLog, load
from segmend.loading.state import Settings
from segmend.logdir import disk
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release

GHOST = os.fsdecode(b"00000000000000000220.\xff.snapshot")
OLD, OWN = "00000000000000000220.old.snapshot", "00000000000000000220.snapshot"
LISTED = BY_LISTING.partition("{}")[2]


def rival(root: Path, name: str, data: bytes | None = None) -> Path:
    """The log dir of `t-0`, whose newest snapshot has a rival, by default of the same bytes."""
    home = two_dirs(root, True)[0]
    own = home / "t-0" / OWN
    (home / "t-0" / name).write_bytes(own.read_bytes() if data is None else data)
    return home


def loaded(home: Path, kafka: str, *last: str) -> LoadedLog:
    """The load of `t-0`, with these names listed last."""
    partition = LogDir.open(str(home)).partition("t-0")
    assert partition is not None
    entries = partition.entries
    partition.entries = {
        **{n: t for n, t in entries.items() if n not in last},
        **{n: entries[n] for n in last},
    }
    return load(partition, Settings(release=Release.parse(kafka), clean=True))


@pytest.mark.parametrize("order", [(OWN, GHOST), (GHOST, OWN)])
def test_one_that_java_does_not_find_takes_the_dir_offline_where_it_is_listed_last(
    order: tuple[str, ...], tmp_path: Path
) -> None:
    log = loaded(rival(tmp_path, GHOST), "4.3.1", *order)
    assert (log.failure is not None) == (order[-1] == GHOST)
    assert log.by_listing is not None
    assert log.by_listing.endswith(LISTED)
    assert OWN in log.by_listing


@pytest.mark.parametrize(("kafka", "taken"), [("2.7.1", 0), ("2.8.0", -1), ("4.3.1", -1)])
@pytest.mark.parametrize("order", [(OWN, OLD), (OLD, OWN)])
def test_the_map_of_2_8_keeps_the_last_and_the_search_before_it_the_first(
    kafka: str, taken: int, order: tuple[str, ...], tmp_path: Path
) -> None:
    log = loaded(rival(tmp_path, OLD, b"torn"), kafka, *order)
    gone = [e.file for e in log.state.effects if e.effect == "snapshot-deleted"]
    assert gone == ([f"t-0/{OLD}"] if order[taken] == OLD else [])


def test_the_same_in_both_is_no_doubt(tmp_path: Path) -> None:
    assert loaded(rival(tmp_path, OLD), "4.3.1", OLD).by_listing is None


def test_one_below_those_that_are_read_is_no_doubt(tmp_path: Path) -> None:
    home = rival(tmp_path, OLD)
    (home / "t-0" / OLD).rename(home / "t-0" / f"{ACTIVE[-20:]}.old.snapshot")
    assert loaded(home, "4.3.1").by_listing is None


def test_the_forecast_gives_no_all_clear(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = rival(tmp_path, GHOST)
    *_, last = forecast(broker_of([LogDir.open(str(home))], "4.3.1"), ForecastOptions())
    assert [each for each in last.to_json()["unknown"] if each.endswith(LISTED)]
    assert main(["forecast", str(home), "--kafka", "4.3.1"]) & 4
    assert main(["check", str(home), "--kafka", "4.3.1"]) == 4
    assert "nothing lost" not in capsys.readouterr().out


def test_a_log_with_more_than_zeros_before_its_suffix_is_not_the_segment(tmp_path: Path) -> None:
    home = two_dirs(tmp_path, True)[0]
    own = home / f"{ACTIVE}.log"
    copy = own.with_name(f"{own.stem}.copy.log")
    copy.write_bytes(own.read_bytes()[:100])
    for last in (own, copy):
        partition = LogDir.open(str(home)).partition("t-0")
        assert partition is not None
        entries = {**disk.listing(partition.path)}
        entries[last.name] = entries.pop(last.name)
        partition.entries = entries
        assert partition.layout.logs[164] == own.name
        assert partition.layout.shadowed == [(164, copy.name)]


@pytest.mark.parametrize(("kafka", "lost"), [("2.4.1", 50), ("2.8.2", 50), ("3.0.0", 0)])
def test_of_two_swap_logs_of_one_number_the_second_is_an_empty_one(
    kafka: str, lost: int, tmp_path: Path
) -> None:
    """Up to 2.8 each is opened by its padded name, and the first is renamed meanwhile."""
    home = two_dirs(tmp_path, True)[0]
    own = home / f"{ROLLED}.log"
    for name in (f"{own.name}.swap", "54.log.swap"):
        own.with_name(name).write_bytes(own.read_bytes())
    log = loaded(home, kafka)
    assert sum(e.records_lost for e in log.state.effects if e.offset == 54) == lost
    assert [s.size > 0 for s in log.state.segments if s.base_offset == 54] == [lost == 0]
    assert log.by_listing is None, "whichever comes first, the padded one is opened"


@pytest.mark.parametrize("kafka", ["2.7.1", "4.3.1"])
def test_a_segment_whose_offsets_are_too_far_away_is_opened_again_once_it_was_split(
    kafka: str, tmp_path: Path
) -> None:
    """It is none of those that the split replaces, so it stays (seen on 2.5.1, 2.8.2 and 4.3.1)."""
    home = two_dirs(tmp_path, True)[0]
    own = home / f"{ROLLED}.log"
    own.with_name("-00000000005000000000.log").write_bytes(own.read_bytes())
    segments = loaded(home, kafka).state.segments
    assert [segment.base_offset for segment in segments] == [-5_000_000_000, *BASES]
    assert segments[0].size == own.stat().st_size


@pytest.mark.parametrize(("kafka", "doubt"), [("1.1", True), ("2.8.2", True), ("3.0", False)])
def test_swap_files_over_one_another_are_completed_in_any_order_up_to_2_8(
    kafka: str, doubt: bool, tmp_path: Path
) -> None:
    """2.8.2 lost nothing where it took the one of text first, and 3.0 renames both of them."""
    home = two_dirs(tmp_path, True)[0]
    fault_called("swaps-over-one-another").hurt(Patient((home,), home / "t-0", home / "u-0"))
    assert (loaded(home, kafka).by_listing is not None) == doubt


@pytest.mark.slow
def test_a_producer_snapshot_of_more_than_64_mib_is_left_open(tmp_path: Path) -> None:
    """It would be read whole: who was writing, and what a start makes of it, is not known."""
    home = two_dirs(tmp_path, True)[0]
    for size, unknown in ((64 << 20, False), ((64 << 20) + 1, True)):
        os.truncate(home / "t-0" / OWN, size)
        assert (loaded(home, "4.3.1").unknown is not None) == unknown
    *_, last = forecast(broker_of([LogDir.open(str(home))], "4.3.1"), ForecastOptions())
    assert [each for each in last.to_json()["unknown"] if OWN in each]
    for level in ("--startup", "--deep"):
        assert main(["check", str(home), level, "--kafka", "4.3.1"]) == 4
