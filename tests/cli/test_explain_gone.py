"""`segmend explain gone` as a user runs it: what real brokers logged, and what is said of it."""

import gzip
import io
import json
import random
import sys
from pathlib import Path

import pytest
from tests.cli.run import Ran, run

from segmend.broker.deletions import SAYINGS
from segmend.explain import gone
from segmend.explain.deletion_lines import sayings
from segmend.explain.gone import ServerLogReader

RECORDED = sorted((Path(__file__).parents[1] / "lab" / "gone" / "recorded").glob("*.log"))
SAID = sorted(RECORDED[0].parent.glob("*.json"))
UNCLEAN = sorted((RECORDED[0].parent / "unclean").glob("*.log"))
WRITE_UP = """\
INFO [Log partition=test-0, dir=/var/kafkadata/data01/data]
Found deletable segments with base offsets [1] due to retention time 86400000ms breach (kafka.log.Log)
INFO [Log partition=test-0, dir=/var/kafkadata/data01/data]
Scheduling segments for deletion List(LogSegment(baseOffset=1, size=73, lastModifiedTime=1587465763000, \
largestTime=0)) (kafka.log.Log)
"""
TRUTH = {
    "aged": ("retention.ms", "records", "right"),
    "seconds": ("retention.ms", "seconds", "wrong"),
    "zeros": ("retention.ms", "zero", "wrong"),
    "modified": ("retention.ms", "mtime", "unknown"),
    "sized": ("retention.bytes", None, "right"),
    "trimmed": ("log start offset", None, "right"),
    "doomed": ("deletion of the topic", None, "right"),
    "mounted": ("retention.ms", "zero", "wrong"),
}
"""By what each topic of the recordings goes, which clock that is, and what is to be said of it."""
TELLS_THE_CLOCK = (2, 4)


def told(*argv: object) -> Ran:
    return run("explain", "gone", *argv)


def of_topics(ran: Ran) -> dict[str, set[tuple[str, str | None, str]]]:
    found: dict[str, set[tuple[str, str | None, str]]] = {}
    for line in ran.of("deletion"):
        found.setdefault(line["topic"], set()).add((line["by"], line["clock_was"], line["verdict"]))
    return found


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.stem)
def test_what_real_brokers_logged(path: Path) -> None:
    release = tuple(map(int, path.stem.split(".")))
    found = of_topics(told(path, "--json"))
    for topic, seen in found.items():
        by, was, verdict = TRUTH[topic]
        if by == "retention.ms" and release < TELLS_THE_CLOCK:
            was, verdict = "untold", "unknown"
        assert seen == {(by, was, verdict)}, topic
    # 1.1 checks indexes as it starts, and makes one of zeros anew; up to 3.9 a close that fails leaves zeros.
    silent = {"zeros"} if release < (2, 3) else set()
    silent |= set() if (2, 3) <= release < (4, 0) else {"mounted"}
    assert set(found) == set(TRUTH) - silent


@pytest.mark.parametrize("path", SAID, ids=lambda path: path.stem)
def test_what_was_said_before_each_start_is_what_went(path: Path) -> None:
    """`explain retention` beside the broker: the three starts of each recording.

    `trimmed` and `doomed` go by requests after the first start.
    """
    starts = json.loads(path.read_text())
    assert len(starts) == 3
    for number, start in enumerate(starts):
        for topic, said in start["said"].items():
            if number == 0 and topic in ("trimmed", "doomed"):
                continue
            if start.get("offline"):  # by the one that does not load
                assert said == [["does not load", None, None]] or topic != "closed"
                continue
            stays = [base for base, goes, _ in said if not goes]
            assert start["left"].get(topic, []) == stays, (number, topic)
    clocks = {topic: {clock for _, _, clock in said} for topic, said in starts[0]["said"].items()}
    assert clocks["seconds"] == {"seconds"}
    assert clocks["microseconds"] == {"microseconds"}
    assert clocks["modified"] == {"mtime"}
    assert starts[2]["said"]["closed"] == [["does not load", None, None]]


def test_the_write_up(tmp_path: Path) -> None:
    """Lines as somebody pasted them: the message folded onto the next line, and no time."""
    (tmp_path / "server.log").write_text(WRITE_UP)
    ran = told(tmp_path / "server.log")
    assert ran.code == 4
    assert "wrong: largestTime=0 is no record's time: the time index ended in an entry of zeros" in ran.out
    assert "last written 2020-04-21 10:42:43; by that it was due at 2020-04-22 10:42:43" in ran.out
    assert "plan repair /var/kafkadata/data01/data/test-0 -o plan.json" in ran.out
    assert "kafka-configs --zookeeper HOST:2181 --alter --entity-type topics --entity-name test " in ran.out
    (line,) = told(tmp_path / "server.log", "--json").of("deletion")
    assert (line["kafka_since"], line["kafka_before"], line["clock"]) == ("2.4", "2.7", "time-index")


def test_packed_rotated_and_piped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = RECORDED[-1].read_bytes()
    expected = told(RECORDED[-1], "--json").of("deletion")
    half = whole.index(b"\n", len(whole) // 2) + 1
    (tmp_path / "server.log.1.gz").write_bytes(gzip.compress(whole[:100]) + gzip.compress(whole[100:half]))
    (tmp_path / "server.log").write_bytes(whole[half:])
    both = [tmp_path / "server.log.1.gz", tmp_path / "server.log"]
    assert told(*both, "--json").of("deletion") == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(whole))))
    assert told("--json", "-").of("deletion") == expected


def test_a_broken_gzip_is_told_and_what_was_read_counts(tmp_path: Path) -> None:
    packed = gzip.compress(WRITE_UP.encode() + random.Random(1).randbytes(99_999).hex().encode())
    (tmp_path / "cut.gz").write_bytes(packed[:-30_000])
    ran = told(tmp_path / "cut.gz")
    assert ran.code == 4 + 8
    assert "cut.gz: the gzip ends too early; the lines before that were read" in ran.err
    assert "wrong: largestTime=0" in ran.out


def test_the_zone_and_the_setting(tmp_path: Path) -> None:
    config = tmp_path / "server.properties"
    config.write_text("log.retention.hours=24\n")
    ran = told(RECORDED[-1], "--zone", "+02:00", "--config", config, "--topic", "zeros")
    assert "retention.ms=86400000 (1 d; server.properties: log.retention.hours=24)" in ran.out
    assert "seconds-0" not in ran.out
    here = told(RECORDED[-1], "--json", "--partition", "zeros-0").of("deletion")[0]["at"]
    there = told(RECORDED[-1], "--json", "--zone", "+02:00").of("summary")[0]["from"]
    assert here - there == pytest.approx(7_200_000, abs=60_000)


def test_old_timestamps_of_young_files_are_told(tmp_path: Path) -> None:
    segment = (
        "LogSegment(baseOffset=0, size=9, lastModifiedTime=1768003000000, largestRecordTimestamp=Some(7))"
    )
    reason = "due to retention time 604800000ms breach based on the largest record timestamp in the segment"
    (tmp_path / "server.log").write_text(
        "[2026-01-10 00:00:00,000] INFO [UnifiedLog partition=a-0, dir=/d] Deleting segment "
        f"{segment.replace('7)', '1700000000000)')} {reason} (kafka.log.UnifiedLog)\n"
    )
    ran = told(tmp_path / "server.log", "--all")
    assert ran.code == 0
    assert "its records came with old timestamps (a mirror, a restored topic, a backfill)" in ran.out


def test_acknowledged_records_that_a_follower_gave_up(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(
        "[2026-01-10 00:00:00,000] WARN [ReplicaFetcher replicaId=1, leaderId=2, fetcherId=0] "
        "Truncating a-0 to offset 70 below high watermark 100 (kafka.server.ReplicaFetcherThread)\n"
        "[2026-01-10 00:00:00,001] INFO [Log partition=a-0, dir=/d] Truncating to offset 70 (kafka.log.Log)\n"
    )
    ran = told(tmp_path / "server.log")
    assert ran.code == 4
    assert "offset 70: cut below the high watermark: acknowledged records are gone" in ran.out


@pytest.mark.parametrize("path", UNCLEAN, ids=lambda path: path.stem)
def test_a_truncation_is_not_called_right(path: Path) -> None:
    """Two brokers, an unclean election: 32 acknowledged records went so."""
    ran = told(path, "--json")
    found = {(line["base_offset"], line["by"], line["verdict"]) for line in ran.of("deletion")}
    assert found == {(base, "truncation", "unknown") for base in (24, 32, 40)}
    assert [line["offset"] for line in ran.of("remark")] == [16]
    assert "an unclean election loses such records" in told(path).out


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gone, "MOST", 10)
    reader = ServerLogReader()
    reader.read(
        f"INFO [Log partition=a-0, dir=/d] Found deletable segments with base offsets [{n}] due to "
        "retention time 1ms breach"
        for n in range(1000)
    )
    assert (len(reader.account.gone), reader.account.more) == (10, 990)


def test_every_saying_is_heard() -> None:
    """No line of one kind is taken for another, and each passes the quick look."""
    values = {
        "partition": "a-0", "topic": "a", "segments": "LogSegment(baseOffset=1, size=2)", "bases": "1,2",
        "path": "/d/x", "dir": "/d", "reason": "retention time 7ms breach", "local": "local ",
        "whose": "Local log", "index": "/d/a-0/00000000000000000007.timeindex",
    }  # fmt: skip
    for kind, saying in SAYINGS.items():
        for text in (words for _, words in saying.steps if words is not None):
            line = text.format_map(
                {**dict.fromkeys(("base", "size", "limit", "left", "high", "number"), "7"), **values}
            )
            assert any(word in line for word in gone._HEADS), line
            assert {each.kind for each in sayings() if each.words.search(line)} == {kind}, line


def test_names_that_are_no_partitions(tmp_path: Path) -> None:
    lines = (
        f"INFO [Log partition={name}, dir=/d] {said} (kafka.log.Log)\n"
        for name in ("x", "a-x1", "-", "a-\u0663", "a-99999999999999999999", "\x1b[31m-0")
        for said in (
            "Truncating to offset 7",
            f"Truncating to offset {'9' * 9999}",
            "Found deletable segments with base offsets [7] due to nothing",
            f"Found deletable segments with base offsets [{'9' * 9999}] due to retention time 1ms breach",
            "Found deletable segments with base offsets [7,,7] due to retention time 1ms breach",
        )
    )
    (tmp_path / "server.log").write_text("".join(lines))
    ran = told(tmp_path / "server.log", "--json")
    assert {line["partition"] for line in ran.of("deletion") + ran.of("remark")} == {None, 0}
    assert "\x1b" not in told(tmp_path / "server.log", "--all").out


@pytest.mark.parametrize("seed", range(4))
def test_whatever_bytes_a_file_has_there_is_no_traceback(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    data = bytearray(RECORDED[seed % len(RECORDED)].read_bytes())
    for _ in range(400):
        data[dice.randrange(len(data))] = dice.randrange(256)
    (tmp_path / "server.log").write_bytes(data)
    for output in ((), ("--json",)):
        ran = told(tmp_path / "server.log", *output)
        assert ran.code in (0, 4)
        assert ran.err == ""


@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (["/nowhere"], "/nowhere: no such file or directory", 8),
        (["FILE", "--kafka", "3.9"], "takes no --kafka", 16),
        (["FILE", "--zone", "CET"], "'CET' is no zone such as +02:00", 16),
        (["--zone", "+02:00"], "--zone is for `segmend explain gone FILE...`", 16),
        (["FILE", "--threads", "2"], "--threads is for `segmend explain startup DIR...`", 16),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], words: str, code: int) -> None:
    ran = told(*(RECORDED[-1] if word == "FILE" else word for word in arguments))
    assert (ran.code, len(ran.err.splitlines())) == (code, 1)
    assert words in ran.err.lower() if code == 8 else words in ran.err
