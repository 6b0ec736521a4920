"""`segmend explain retention` for another time, with other settings; doubtful clocks; the timeline."""

import os
import struct
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.cli.run import as_one_who_may_not, python, run
from tests.cli.test_explain_retention import DAY, HOUR, LOGS, NOW, aged, stamped
from tests.faults.written import BASES, in_place

from segmend.loading.topic_settings import topic_settings

DESCRIBED = sorted((Path(__file__).parents[1] / "lab" / "gone" / "described").glob("*.txt"))
LONG_MAX = 2**63 - 1


@pytest.fixture
def dirs(tmp_path: Path) -> Sequence[Path]:
    """Segments of `t-0` that are 4, 3, 2 and 1 days old; retention is 7 days."""
    return aged(tmp_path, 4)


def deleted(*argv: object) -> list[int]:
    """The base offsets of `t-0` that go at the next look."""
    ran = run("explain", "retention", *argv, "--partition", "t-0", "--json", "--kafka", "4.3")
    return [line["base_offset"] for line in ran.of("segment") if line["outcome"] == "deleted"]


def iso(stamp: int, zone: str = "") -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(stamp // 1000)) + zone


def test_what_if_it_were_then(dirs: Sequence[Path]) -> None:
    due = NOW + 3 * DAY - HOUR + 1
    assert deleted(*dirs) == []
    for moment in (
        str(due),
        "+72h",
        "+3d",
        iso(due + 1000),
        iso(due + 1000, "Z"),
        iso(due + 3_601_000, "+01:00"),
    ):
        assert deleted(*dirs, "--at", moment) == BASES[:1], moment
    assert deleted(*dirs, "--at", str(due - 1)) == []
    assert deleted(*dirs, "--at", "+30d") == BASES
    ran = run("explain", "retention", *dirs, "--partition", "t-0", "--at", iso(due), "--kafka", "4.3")
    assert "UTC as asked (--at)" in ran.out


def test_what_goes_until_when(dirs: Sequence[Path]) -> None:
    ran = run("explain", "retention", *dirs, "--partition", "t-0", "--json", "--kafka", "4.3")
    outlook = ran.of("partition")[0]["outlook"]
    assert [outlook[name]["segments"] for name in ("now", "day", "week", "ever")] == [0, 0, 4, 4]
    assert outlook["week"]["records"] == 220
    assert ran.of("summary")[0]["outlook"] == outlook
    told = run("explain", "retention", *dirs, "--partition", "t-0", "--kafka", "4.3").out
    assert next(line for line in told.splitlines() if line.startswith("  in 7 d")).endswith(" 220")


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("Configs for topic 't' are retention.ms=1000,cleanup.policy=compact,delete\n", "zk.txt"),
        ("Configs for topic:t are retention.ms=1000\nConfigs for topic:u are \n", "old.txt"),
        (
            "Dynamic configs for topic t are:\n  retention.ms=1000 sensitive=false "
            "synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=1000, DEFAULT_CONFIG:log.retention.ms=604800000}\n",
            "new.txt",
        ),
        (
            "All configs for topic t are:\n  cleanup.policy=delete sensitive=false synonyms={}\n"
            "  retention.ms=1000 sensitive=false synonyms={}\n",
            "all.txt",
        ),
        (
            "Topic: t\tTopicId: AAAAAAAAAAAAAAAAAAAAAA\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: "
            "retention.ms=1000,flush.ms=9\n\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n",
            "topics.txt",
        ),
        ("# ours\nretention.ms = 1000\n", "t.properties"),
    ],
    ids=lambda value: value if value.endswith(("txt", "properties")) else "",
)
def test_settings_from_elsewhere(text: str, file: str, dirs: Sequence[Path], tmp_path: Path) -> None:
    folder = tmp_path / "settings"
    folder.mkdir()
    (folder / file).write_text(text)
    for path in (folder / file, folder):
        ran = run("explain", "retention", *dirs, "--json", "--kafka", "2.8", "--topic-config", path)
        setting = ran.of("partition")[0]["settings"]["retention.ms"]
        assert setting["value"] == "1000"
        assert (setting["origin"], setting["known"]) == ("topic", True)
        assert setting["source"] == f"the topic's own, in {path}"
        assert [line["outcome"] for line in ran.of("segment")[:4]] == ["deleted"] * 4
    forecast = run("forecast", *dirs, "--json", "--kafka", "4.3", "--topic-config", folder)
    later = [line for line in forecast.of("later") if line["topic"] == "t"]
    assert sum(line["segments"] for line in later) == 4


@pytest.mark.parametrize("path", DESCRIBED, ids=lambda path: path.stem)
def test_what_kafkas_tools_print_is_understood(path: Path) -> None:
    found = topic_settings(path.read_text(), str(path), path.stem)
    assert found["orders"]["retention.ms"] == "3600000"
    assert found["orders"]["cleanup.policy"] == "compact,delete"
    assert "retention.ms" not in found.get("plain", {})


def test_compaction_takes_them_too(dirs: Sequence[Path], tmp_path: Path) -> None:
    (tmp_path / "t.properties").write_text("cleanup.policy=compact\nmin.compaction.lag.ms=60000\n")
    told = ("--topic-config", tmp_path / "t.properties")
    ran = run("explain", "compaction", *dirs, "--json", "--kafka", "2.8", *told)
    (line,) = ran.of("partition")
    assert line["settings"]["min.compaction.lag.ms"]["value"] == "60000"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Dynamic configs for topic t are:\n  nonsense\n", ":2: no setting of a topic: nonsense"),
        (
            "retention.ms=1000\nlog.retention.ms=5\n",
            ":2: topics have no setting log.retention.ms (topics call it",
        ),
        ("retention.ms=week\n", ":1: retention.ms=week: not a number"),
        ("Configs for topic 't' are retention.ms=7d\n", ":1: retention.ms=7d: not a number"),
    ],
)
def test_bad_settings_name_file_and_line(text: str, words: str, dirs: Sequence[Path], tmp_path: Path) -> None:
    path = tmp_path / "t.properties"
    path.write_text(text)
    ran = run("explain", "retention", *dirs, "--topic-config", path)
    assert (ran.code, len(ran.err.splitlines())) == (16, 1)
    assert f"{path}{words}" in ran.err


@pytest.mark.parametrize("value", ["tomorrow", "1700000000", "1700000000000000", "2026-13-01", "+1y", ""])
def test_what_is_no_time(value: str, dirs: Sequence[Path]) -> None:
    ran = run("explain", "retention", *dirs, "--at", value)
    assert (ran.code, len(ran.err.splitlines())) == (16, 1)


def test_what_is_not_known_is_said(dirs: Sequence[Path], tmp_path: Path) -> None:
    ran = run("explain", "retention", *dirs, "--partition", "t-0", "--kafka", "2.8")
    assert "retention.ms=604800000 (7 d), not known: the default of the release is assumed" in ran.out
    assert "(--config tells the broker's settings; __cluster_metadata, in one of its log dirs" in ran.out
    assert "Kafka's default" not in ran.out
    config = tmp_path / "server.properties"
    config.write_text("log.retention.hours=24\n")
    ran = run("explain", "retention", *dirs, "--partition", "t-0", "--kafka", "2.8", "--config", config)
    assert (
        "server.properties: log.retention.hours=24, unless the topic has its own, which is not known"
        in ran.out
    )


def test_zeros_beside_the_records_times(dirs: Sequence[Path]) -> None:
    """Zeros that are the index's alone are told from zeros that a producer sent."""
    in_place(f"{LOGS[0]}.timeindex", lambda old: old + bytes(24))(dirs)
    ran = run("explain", "retention", *dirs, "--partition", "t-0", "--kafka", "4.3")
    assert "1 time index ends with timestamp 0: counts as 1970 (largestTime=0 in server.log)" in ran.out
    assert "the records' own timestamps: 2023-11-14 22:13:20 to 2023-11-14 22:13:4" in ran.out
    assert "the zeros are not theirs" in ran.out
    assert f"segmend plan repair {dirs[0]}/t-0 -o plan.json" in ran.out
    line = run("explain", "retention", *dirs, "--json", "--kafka", "4.3").of("segment")[0]
    assert (line["clock"], line["clock_was"]) == ("time-index", "zero")
    assert line["records"]["last_timestamp"] > 1_700_000_000_000
    assert "due to log retention time" in line["broker_says"]


@pytest.mark.slow
def test_the_next_command_mends_it(
    dirs: Sequence[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for log in LOGS:
        in_place(f"{log}.timeindex", lambda old: old + bytes(24))(dirs)
    ran = run("explain", "retention", *dirs, "--partition", "t-0", "--json", "--kafka", "4.3")
    command = ran.of("partition")[0]["next"][0]["command"]
    words = command.replace("plan.json", str(tmp_path / "plan.json")).split()
    assert words[:3] == ["segmend", "plan", "repair"]
    assert run(*words[1:]).code == 0
    assert run("apply", tmp_path / "plan.json", "--yes").code == 1
    after = run("explain", "retention", *dirs, "--partition", "t-0", "--json", "--kafka", "4.3")
    assert {line["clock_was"] for line in after.of("segment")} == {None}


@pytest.mark.parametrize(("factor", "unit"), [(1e-3, "seconds"), (1e3, "microseconds"), (1e6, "nanoseconds")])
def test_another_unit_is_recognised(factor: float, unit: str, dirs: Sequence[Path]) -> None:
    stamped(dirs, LOGS[0], int((NOW - HOUR) * factor))
    ran = run("explain", "retention", *dirs, "--partition", "t-0", "--kafka", "4.3")
    assert f"{int((NOW - HOUR) * factor)} is {unit}, which Kafka takes for milliseconds" in ran.out
    assert f"(as {unit} it is {time.strftime('%Y-%m-%d', time.gmtime((NOW - HOUR) / 1000))}" in ran.out
    assert "--add-config message.timestamp.type=LogAppendTime" in ran.out


def test_forever_is_never(dirs: Sequence[Path], tmp_path: Path) -> None:
    config = tmp_path / "server.properties"
    config.write_text(f"log.retention.ms={LONG_MAX}\n")
    ran = run("explain", "retention", *dirs, "--all", "--kafka", "4.3", "--config", config)
    assert f"retention.ms={LONG_MAX} (forever)" in ran.out
    assert "never goes by time" in ran.out
    dates = [line["date"] for line in run(
        "explain", "retention", *dirs, "--json", "--kafka", "4.3", "--config", config
    ).of("segment")]  # fmt: skip
    assert set(dates) == {None}


def test_an_empty_active_segment_has_no_date(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    log = tmp_path / "t-0" / f"{0:020d}.log"
    log.touch()
    os.utime(log, (NOW / 1000 - 30 * 86400,) * 2)
    ran = run("explain", "retention", tmp_path, "--all", "--kafka", "4.3")
    assert "it is the active segment, and empty" in ran.out
    assert "goes by time at" not in ran.out


@pytest.mark.slow
def test_a_closed_time_index_is_named_with_what_opens_it(dirs: Sequence[Path], tmp_path: Path) -> None:
    """As write-up 002 had it; the other partitions are told all the same."""
    closed = dirs[0] / f"{LOGS[1]}.timeindex"
    closed.chmod(0)
    arguments = ["-m", "segmend", "explain", "retention", *dirs, "--kafka", "2.5"]
    ran = python(*arguments, prefix=as_one_who_may_not())
    assert (ran.returncode, ran.stderr) == (4, "")
    assert "does not load:" in ran.stdout
    assert f"{LOGS[1]}.timeindex" in ran.stdout
    assert f"chown -h {os.getuid()}:{os.getgid()} {closed}" in ran.stdout
    assert "v-0" in python(*arguments, "--all", prefix=as_one_who_may_not()).stdout


def test_the_timeline(dirs: Sequence[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    for columns in (60, 100, 140):
        monkeypatch.setenv("COLUMNS", str(columns))
        ran = run("explain", "retention", *dirs, "--partition", "t-0", "--timeline", "--kafka", "4.3")
        assert max(len(line) for line in ran.out.splitlines() if "#" in line) <= columns
        rows = [line for line in ran.out.splitlines() if line.split()[:1] in [[str(base)] for base in BASES]]
        assert len(rows) == 4
        assert all(row.count("x") == 1 and row.isascii() for row in rows)
        assert [row.index("x") for row in rows] == sorted(row.index("x") for row in rows)
        assert "\x1b" not in ran.out
    assert rows[0].endswith(time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime((NOW + 3 * DAY - HOUR) / 1000)))


def test_a_long_timeline_folds(tmp_path: Path) -> None:
    partition = tmp_path / "t-0"
    partition.mkdir()
    for number in range(200):
        (partition / f"{number:020d}.log").write_bytes(b"x")
        (partition / f"{number:020d}.timeindex").write_bytes(
            struct.pack(">qi", NOW - (200 - number) * HOUR, 0)
        )
    (tmp_path / ".kafka_cleanshutdown").touch()
    ran = run("explain", "retention", tmp_path, "--timeline", "--kafka", "2.8")
    rows = [line for line in ran.out.splitlines() if "segments in front)" in line]
    assert len(rows) == 40


def test_the_page(dirs: Sequence[Path], tmp_path: Path) -> None:
    in_place(f"{LOGS[0]}.timeindex", lambda old: old + bytes(24))(dirs)
    (dirs[0] / "t-0").rename(dirs[0] / "<script>-0")
    page = tmp_path / "page.html"
    ran = run("explain", "retention", *dirs, "--kafka", "4.3", "--all", "--html", page)
    text = page.read_text()
    assert ran.code == 0
    assert text.count('class="row"') == 4 + 3 + 3
    assert "<script" not in text
    assert "&lt;script&gt;-0" in text
    assert "with timestamp 0: counts as 1970" in text
    inside = run("explain", "retention", *dirs, "--html", dirs[0] / "page.html", code=16)
    assert "inside the log dir" in inside.err
    assert run("explain", "retention", *dirs, "--html", "/nowhere/page.html").code == 8
