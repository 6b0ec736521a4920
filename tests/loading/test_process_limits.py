"""What a broker must be given, and is on no disk: open files, memory maps, all of server.properties.

4.3.1 over 70 segments, allowed 230 open files, lost its log dirs ("Too many open files") and ended.
"""

from collections import Counter
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.faults.written import two_dirs

from segmend.loading import BrokerOutcome, ForecastOptions, forecast, left_open
from segmend.logdir import disk
from segmend.logdir.config import ServerConfig
from segmend.logdir.file_system import EntryType
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.process_limits import loaded_segments, maps_needed


def last(dirs: list[Path], options: ForecastOptions) -> BrokerOutcome:
    *_, end = forecast(broker_of(dirs, "4.3"), options)
    assert isinstance(end, BrokerOutcome)
    return end


def test_nothing_is_promised_where_this_machine_allows_too_few_memory_maps(tmp_path: Path) -> None:
    dirs = list(two_dirs(tmp_path))
    needed = maps_needed(loaded_segments(broker_of(dirs, "4.3")))
    enough = last(dirs, ForecastOptions(max_map_count=needed))
    few = last(dirs, ForecastOptions(max_map_count=needed - 1))
    assert few.starts
    assert not few.nothing_lost
    (more,) = set(few.unknown) - set(enough.unknown)
    assert f"{needed:,} memory maps, and vm.max_map_count is {needed - 1:,} here" in more


def test_of_another_machine_it_is_taken_for_granted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So are the files that the process may have open, of which no machine tells before it runs."""
    dirs = list(two_dirs(tmp_path))
    segments = loaded_segments(broker_of(dirs, "4.3"))
    before = last(dirs, ForecastOptions())
    monkeypatch.setattr(left_open, "MAX_MAP_COUNT", maps_needed(segments) - 1)
    monkeypatch.setattr(left_open, "OPEN_FILES", segments - 1)
    after = last(dirs, ForecastOptions())
    assert after.unknown == before.unknown
    maps, files = (each for each in after.assumed if each not in before.assumed)
    assert "vm.max_map_count is higher than usual" in maps
    assert f"{segments:,} files open" in files


def test_a_few_lines_of_server_properties_are_told_from_all(tmp_path: Path) -> None:
    """No broker starts with them alone ("Missing required configuration ...")."""
    words = "server.properties has more lines than these"
    dirs = [LogDir.open(str(each)) for each in two_dirs(tmp_path)]
    few = {"node.id": "1", "log.dirs": ",".join(each.path for each in dirs)}
    for given, told in ((few, True), ({}, False), (few | {"listeners": "PLAINTEXT://:9092"}, False)):
        broker = BrokerDirs(dirs, release=Release.parse("4.3"), given=ServerConfig(given=given))
        *_, end = forecast(broker, ForecastOptions())
        assert isinstance(end, BrokerOutcome)
        assert any(words in each for each in end.assumed) == told


def test_segments_are_counted_while_they_are_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each directory is listed once: there may be 100,000."""
    listed: Counter[str] = Counter()
    really = disk.listing

    def counted(path: str) -> dict[str, EntryType]:
        listed[path] += 1
        return really(path)

    dirs = list(two_dirs(tmp_path))
    broker = broker_of(dirs, "4.3")
    monkeypatch.setattr(disk, "listing", counted)
    *_, end = forecast(broker, ForecastOptions(max_map_count=1))
    assert isinstance(end, BrokerOutcome)
    assert any("memory maps" in each for each in end.unknown)
    assert {each: times for each, times in listed.items() if times > 1} == {}
