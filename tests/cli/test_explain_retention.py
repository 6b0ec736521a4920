"""`segmend explain retention` as a user runs it: why each segment goes or stays."""

import os
import struct
import time
from pathlib import Path
from typing import Any

import pytest
from tests.beside import broker_on
from tests.cli.run import run
from tests.faults.patient import HIGH, START
from tests.faults.written import BASES, END, checkpoint, in_place, removed, two_dirs, written
from tests.golden.shared import golden

from segmend.loading.limits import Known, Sources, retention_of
from segmend.logdir.config import ServerConfig
from segmend.node.metadata_image import MetadataImage

Capture = pytest.CaptureFixture[str]
NOW = int(time.time() * 1000)
HOUR, DAY = 3_600_000, 86_400_000
LOGS = [f"t-0/{base:020d}" for base in BASES]


@pytest.fixture
def dirs(tmp_path: Path) -> list[Path]:
    """A broker whose `t-0` has segments that are 10, 9, 8 and 7 days old; retention is 7 days."""
    return aged(tmp_path, 10)


def aged(root: Path, oldest: int) -> list[Path]:
    """Each segment a day younger than the one before, the first so many days old."""
    found = two_dirs(root)
    for number, log in enumerate(LOGS):
        stamped(found, log, NOW - (oldest - number) * DAY - HOUR)
    return found


def stamped(dirs: list[Path], log: str, stamp: int) -> None:
    """Set the largest timestamp of a segment."""
    in_place(f"{log}.timeindex", lambda old: old[:-12] + struct.pack(">q", stamp) + old[-4:])(dirs)


def configured(tmp_path: Path, *rows: str) -> Path:
    path = tmp_path / "server.properties"
    path.write_text("".join(f"{row}\n" for row in rows))
    return path


def segments(*argv: object) -> list[tuple[str, str]]:
    """(outcome, reason) of each segment of t-0."""
    ran = run("explain", "retention", *argv, "--partition", "t-0", "--json", "--kafka", "4.3", code=0)
    return [(line["outcome"], line["reason"]) for line in ran.of("segment")]


def test_bare_it_is_a_page() -> None:
    ran = run("explain", "retention", code=0)
    for words in ("retention.ms", "high watermark", "mtime" if "mtime" in ran.out else "modification time"):
        assert words in ran.out
    assert len(ran.out.splitlines()) < 60


def test_old_segments_go(dirs: list[Path]) -> None:
    assert segments(*dirs) == [("deleted", "retention.ms")] * 4


def test_it_is_what_the_forecast_says(dirs: list[Path]) -> None:
    forecast = run("forecast", *dirs, "--json", "--kafka", "4.3")
    later = [line for line in forecast.of("later") if line["what"] == "segments-deleted"]
    (summary,) = run("explain", "retention", *dirs, "--json", "--kafka", "4.3").of("summary")
    assert sum(line["bytes_lost"] for line in later) == summary["bytes_deleted"] > 0


def test_a_timestamp_in_the_future_holds_all_that_follows(dirs: list[Path]) -> None:
    stamped(dirs, LOGS[0], NOW + 400 * DAY)
    assert segments(*dirs) == [("stays", "future"), *[("stays", "behind")] * 3]
    ran = run("explain", "retention", *dirs, "--topic", "t", "--kafka", "4.3")
    assert "3 segments" in ran.out
    assert f"held by {BASES[0]:020d}.log, whose largest timestamp is in the future" in ran.out


def test_a_young_segment_in_front_holds_old_ones(dirs: list[Path]) -> None:
    stamped(dirs, LOGS[1], NOW - HOUR)
    found = segments(*dirs)
    assert found == [("deleted", "retention.ms"), ("stays", "not-due"), *[("stays", "behind")] * 2]


def test_an_index_of_zeros_counts_as_1970(dirs: list[Path]) -> None:
    for log in LOGS:
        in_place(f"{log}.timeindex", lambda old: bytes(len(old)))(dirs)
    ran = run("explain", "retention", *dirs, "--partition", "t-0", "--kafka", "4.3")
    assert "4 time indexes end with timestamp 0: counts as 1970" in ran.out
    assert "deleted at the next look: retention.ms" in ran.out


def test_without_a_time_index_the_time_of_the_file_counts(dirs: list[Path]) -> None:
    removed(f"{LOGS[0]}.timeindex")(dirs)
    os.utime(dirs[0] / f"{LOGS[0]}.log", (NOW / 1000 - 60, NOW / 1000 - 60))
    assert segments(*dirs)[0] == ("stays", "not-due")
    ran = run("explain", "retention", *dirs, "--partition", "t-0", "--kafka", "4.3")
    assert "1 segment has no timestamp in the time index: the modification time of the .log" in ran.out


def test_size(dirs: list[Path], tmp_path: Path) -> None:
    config = configured(tmp_path, "log.retention.ms=-1", "log.retention.bytes=7000")
    found = segments(*dirs, "--config", config)
    assert found == [("deleted", "retention.bytes"), *[("stays", "not-due")] * 3]
    ran = run("explain", "retention", *dirs, "--config", config, "--partition", "t-0")
    assert "goes by size after " in ran.out
    assert "retention.bytes=7000 (6.8 KiB), server.properties: log.retention.bytes=7000" in ran.out


def test_the_log_start_offset_counts_for_every_policy(dirs: list[Path], tmp_path: Path) -> None:
    checkpoint(START, f"t 0 {BASES[2]}")(dirs)
    config = configured(tmp_path, "log.cleanup.policy=compact")
    found = segments(*dirs, "--config", config)
    assert found == [*[("deleted", "log start offset")] * 2, *[("stays", "compact-only")] * 2]


def test_nothing_goes_above_the_high_watermark(dirs: list[Path]) -> None:
    checkpoint(HIGH, f"t 0 {BASES[2] - 1}")(dirs)
    found = segments(*dirs)
    assert found == [("deleted", "retention.ms"), ("stays", "high-watermark"), *[("stays", "behind")] * 2]


def test_the_open_index_of_a_running_broker_is_no_1970(dirs: list[Path]) -> None:
    """Preallocated indexes end in zeros; the newest batch counts."""
    removed(".kafka_cleanshutdown")(dirs)
    for suffix in (".index", ".timeindex"):
        in_place(f"{LOGS[3]}{suffix}", lambda old: old + bytes(12 * 8 * 100))(dirs)
    stamped(dirs, LOGS[0], NOW - HOUR)
    with broker_on(dirs[0]):
        ran = run("explain", "retention", *dirs, "--partition", "t-0", "--json", "--kafka", "4.3")
    last = ran.of("segment")[-1]
    assert last["timestamp_from"] == "time index"
    assert last["largest_timestamp"] == pytest.approx(NOW - 7 * DAY - HOUR)


def test_a_killed_log_is_judged_as_its_recovery_leaves_it(dirs: list[Path]) -> None:
    """What the index says of the active segment is rebuilt from the records, which are of 2023."""
    removed(".kafka_cleanshutdown")(dirs)
    ran = run("explain", "retention", *dirs, "--partition", "t-0", "--json", "--kafka", "4.3")
    last = ran.of("segment")[-1]
    assert last["largest_timestamp"] == 1_700_000_103_000


def test_json(dirs: list[Path]) -> None:
    ran = run("explain", "retention", *dirs, "--json", "--kafka", "4.3")
    assert [line["topic"] for line in ran.of("partition")] == ["t", "u", "v"]
    line = ran.of("partition")[0]
    assert (line["log_start_offset"], line["log_end_offset"]) == (0, END)
    assert line["settings"]["retention.ms"] == {
        "value": str(7 * DAY), "source": "Kafka's default", "origin": "default", "known": False
    }  # fmt: skip
    assert line["settings_known"] is False
    segment = ran.of("segment")[0]
    assert segment["file"] == f"{LOGS[0]}.log"
    assert segment["due"] == segment["largest_timestamp"] + 7 * DAY + 1
    assert ran.json[-1]["type"] == "summary"


def test_healthy_partitions_fold(dirs: list[Path], tmp_path: Path) -> None:
    config = configured(tmp_path, "log.retention.hours=-1")
    ran = run("explain", "retention", *dirs, "--config", config)
    assert ran.out.startswith("3 partitions with nothing to delete now and nothing held")
    shown = run("explain", "retention", *dirs, "--config", config, "--all")
    assert "retention.ms=-1 (no limit), server.properties: log.retention.hours=-1" in shown.out


def test_the_topics_own_settings_are_in_the_metadata() -> None:
    found = sorted(golden("4.3.1-clean").glob("b1/d*"))
    ran = run("explain", "retention", *found, "--topic", "codec-none", "--json")
    own = ran.of("partition")[0]["settings"]["retention.ms"]
    assert own == {
        "value": "-1", "source": "the topic's own, in __cluster_metadata", "origin": "topic", "known": True
    }  # fmt: skip


def changed(image: MetadataImage, kind: int, resource: str, name: str, value: str | None) -> None:
    data: dict[str, Any] = {"resourceType": kind, "resourceName": resource, "name": name, "value": value}
    image.apply("CONFIG_RECORD", data)


def test_settings_win_in_the_brokers_order() -> None:
    """Topic, this broker, all brokers, server.properties, default."""
    image, config = MetadataImage(), ServerConfig(given={"log.retention.hours": "2"})

    def value() -> tuple[str, str]:
        own = image.configs.get("t", {})
        sources = Sources(config=config, topic=own, dynamic=image.dynamic(1))
        found = retention_of(sources, "t").settings[1]
        return found.value, found.source.partition(",")[0].partition(":")[0]

    assert value() == (str(2 * HOUR), "server.properties")
    changed(image, 4, "", "log.retention.ms", "30")
    assert value() == ("30", "dynamic setting of the broker")
    changed(image, 4, "1", "log.retention.ms", "20")
    changed(image, 4, "2", "log.retention.ms", "21")
    assert value() == ("20", "dynamic setting of the broker")
    changed(image, 2, "t", "retention.ms", "10")
    assert value() == ("10", "the topic's own")
    changed(image, 2, "t", "retention.ms", None)
    assert value()[0] == "20"
    assert ServerConfig().source("retention.ms") == "Kafka's default"


def test_local_limits_count_where_storage_is_remote() -> None:
    topic = {"remote.storage.enable": "true", "retention.ms": "1000", "local.retention.ms": "10"}
    on = ServerConfig(given={"remote.log.storage.system.enable": "true"})
    found = retention_of(Sources(config=on, topic=topic), "t")
    assert (found.limits.retention_ms, found.remote) == (10, True)
    same = retention_of(Sources(config=on, topic={**topic, "local.retention.ms": "-2"}), "t")
    assert same.limits.retention_ms == 1000
    off = retention_of(Sources(config=ServerConfig(), topic=topic), "t")
    assert (off.limits.retention_ms, off.remote) == (1000, False), "off is the default"
    unseen = retention_of(Sources(config=ServerConfig(), topic=topic, known=Known(broker=False)), "t")
    assert unseen.remote, "without server.properties: else there were no such topic"


@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (["/nowhere"], "/nowhere: no such directory", 8),
        (["DIR", "--topic", "none"], "no partition here is called 'none'", 16),
        (["DIR", "--partition", "t-9"], "no partition here is called 't-9'", 16),
        (
            ["--topic", "t"],
            "--topic is for `segmend explain compaction or gone or merge or retention DIR... or FILE...`",
            16,
        ),
        (["DIR", "--brokers", "3"], "--brokers is for `segmend explain startup DIR...`", 16),
        (["DIR", "--config", "/nowhere"], "/nowhere: ", 8),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], words: str, code: int, dirs: list[Path]) -> None:
    ran = run("explain", "retention", *(dirs[0] if word == "DIR" else word for word in arguments))
    assert (ran.code, len(ran.err.splitlines())) == (code, 1)
    assert words in ran.err


def test_a_partition_that_does_not_load_is_told_first(dirs: list[Path]) -> None:
    written("t-0/leader-epoch-checkpoint", "junk")(dirs)
    ran = run("explain", "retention", *dirs, "--kafka", "4.3", code=4)
    assert ran.out.splitlines()[1].strip().startswith("does not load:")
    assert "next:   segmend check --deep " in ran.out or " -m segmend check --deep " in ran.out
    told = run("explain", "retention", *dirs, "--kafka", "4.3", "--json")
    assert (told.code, told.of("summary")[0]["not_loaded"]) == (4, 1)
