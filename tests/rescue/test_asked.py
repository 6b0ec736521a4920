"""What can be asked of a rescue, and what is refused."""

import json
import re
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.cli.run import as_one_who_may_not, python, run
from tests.faults.on_disk import put_link
from tests.fleet.build import plain, write_broker
from tests.golden.shared import golden
from tests.rescue.replicas import replicas, told

from segmend.cli.moment import moment

EVERY = (
    ("rescue",), ("rescue", "--as", "jsonl"), ("export",),
    ("fleet", "rescue", "--driver", "local", "--as", "delta"), ("fleet", "export", "--driver", "local"),
)  # fmt: skip


def test_a_choice_of_records(tmp_path: Path) -> None:
    (source,) = replicas(golden("4.3.1-killed"), tmp_path, ("txn-0", "codec-zstd-0"), count=1)

    def rows(name: str, *options: object) -> dict[str, list[dict[str, object]]]:
        run("rescue", source, "--out", tmp_path / name, "--as", "jsonl", *options, code=0)
        return told(tmp_path / name)

    every = rows("every")
    committed = rows("committed", "--isolation", "read_committed")
    assert committed["txn-0"] == [row for row in every["txn-0"] if not row["aborted"]]
    assert len(committed["txn-0"]) == len(every["txn-0"]) - 54
    some = rows("some", "--offsets", "17..101")
    for name, found in some.items():
        assert found == [row for row in every[name] if row["offset"] in range(17, 102)]
    times = sorted({str(row["timestamp"]) for row in every["codec-zstd-0"]})
    recent = rows("recent", "--since", times[5], "--until", times[9], "--topic", "codec*")
    assert recent["codec-zstd-0"] == [
        row for row in every["codec-zstd-0"] if times[5] <= str(row["timestamp"]) <= times[9]
    ]


def test_a_time_is_what_it_says_to_the_millisecond() -> None:
    """1.001 * 1000 is less than 1001 in binary: the record of that time was left out by --until."""
    for second in (1, 1_761_955_200):
        for milli in range(1000):
            said = datetime.fromtimestamp(second, UTC).replace(microsecond=milli * 1000).isoformat()
            assert moment(said) == second * 1000 + milli


def test_a_log_dir_of_some_offsets_has_just_these(tmp_path: Path) -> None:
    (source,) = replicas(golden("4.3.1-killed"), tmp_path, ("codec-zstd-0", "txn-0"), count=1)
    out = tmp_path / "out"
    cut = run("rescue", source, "--out", out, "--offsets", "17..101")
    assert (cut.code, cut.out.count("it stays open in OUT")) == (0, 1)
    for name, each in (("all", source), ("some", out)):
        run("rescue", each, "--out", tmp_path / name, "--as", "jsonl")
    every, some = told(tmp_path / "all"), told(tmp_path / "some")
    # The marker of the transaction at the end is not there.
    for rows in (*every.values(), *some.values()):
        for row in rows:
            del row["aborted"]
    for name, rows in every.items():
        assert some[name] == [row for row in rows if 17 <= row["offset"] <= 101]
    ran = run("check", out, "--deep", "--json")
    assert {row["severity"] for row in ran.of("finding")} <= {"info"}, ran.out


def test_a_log_that_was_compacted_at_its_beginning_still_begins_there(tmp_path: Path) -> None:
    """Of `compacted-0` the first log is empty; a group that stands at an offset of it goes on."""
    (source,) = replicas(golden("4.3.1-killed"), tmp_path, ("compacted-0",), count=1)
    out = tmp_path / "out"
    for name, each in (("out", source), ("again", out)):
        (line,) = run("rescue", each, "--out", tmp_path / name, "--json", code=0).of("partition")
        assert line["first_offset"] == 0
    assert [sorted(path.name for path in each.glob("*/*.log"))[0] for each in (out, tmp_path / "again")] == [
        f"{0:020d}.log"
    ] * 2
    assert "compacted" not in (out / "log-start-offset-checkpoint").read_text()


def test_what_is_refused(tmp_path: Path) -> None:
    (source,) = replicas(golden("4.3.1-killed"), tmp_path, ("codec-zstd-0",), count=1)
    out = tmp_path / "out"

    def refused(*options: object, code: int = 16) -> str:
        ran = run("rescue", source, *options)
        assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
        return ran.err

    for inside in (source, source / "new", source / "codec-zstd-0" / "x", source.parent):
        assert "a rescue never writes into its source" in refused("--out", inside)
    assert sorted(path.name for path in source.iterdir() if path.is_dir()) == ["codec-zstd-0"]
    assert run("rescue", source, "--out", out, "--as", "jsonl").code == 0
    assert 'holds another rescue (see _rescue.jsonl), with as "jsonl"; give' in refused(
        "--out", out, "--as", "csv"
    )
    full = tmp_path / "full"
    full.mkdir()
    (full / "mine").touch()
    assert "is not empty" in refused("--out", full)
    asked = refused("--out", tmp_path / "n", "--topic", "nothing")
    assert "no partition here is asked for by --topic nothing; topics here: codec-zstd (" in asked
    assert "is for tables" in refused("--out", tmp_path / "n", "--since", "+1h")
    assert "is for tables" in refused("--out", tmp_path / "n", "--isolation", "read_committed")


def test_nothing_of_the_last_day(tmp_path: Path) -> None:
    """Of brokers that died before: from when on it was, and that the same words are another time now."""
    (source,) = replicas(golden("4.3.1-killed"), tmp_path, ("codec-zstd-0",), count=1)
    command = ("rescue", source, "--out", tmp_path / "o", "--as", "csv")
    ran = run(*command, "--since", "-1s")
    assert "  0 records, offsets 0 to 215" in ran.out
    assert re.search(r"nothing of it is of the time asked for, from 20\d\d-\S+ \S+ \(UTC\);", ran.out)
    assert "base64" not in ran.out
    (tmp_path / "o" / "_rescue.txt").read_text().index("nothing of it is of the time asked for")
    time.sleep(0.01)
    again = run(*command, "--since", "-1s", code=16)
    began = re.search(r"with since (\d+) \(ms; a time like -24h is another one each time", again.err)
    assert began
    assert run(*command, "--since", began[1]).code == ran.code
    both = ("--as", "jsonl", "--until", "2100-01-01")
    assert (
        "are in base64; --decode utf8 --decode key=utf8"
        in run(*command[:2], "--out", tmp_path / "p", *both).out
    )
    decoded = run(*command[:2], "--out", tmp_path / "q", *both, "--decode", "utf8")
    assert "base64" not in decoded.out


def test_replicas_of_another_topic_are_refused_before_any_is_read_and_the_others_are_written(
    tmp_path: Path,
) -> None:
    dirs = replicas(golden("4.3.1-killed"), tmp_path, ("codec-zstd-0", "single-0"), count=2)
    metadata = dirs[1] / "codec-zstd-0" / "partition.metadata"
    before, other = metadata.read_text(), "version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw"
    sound = {log: log.read_bytes() for each in dirs for log in each.glob("codec-zstd-0/*.log")}
    for number, command in enumerate(EVERY):
        out = tmp_path / f"out{number}"
        metadata.write_text(other)
        for log in sound:
            put_link(log, "nothing")
        ran = run(*command, *dirs, "--out", out, "--json", code=8)
        lines = {line["topic"]: line for line in ran.of("partition")}
        assert "of topic AAECAwQFBgcICQoLDA0ODw" in lines["codec-zstd"]["refused"], command
        assert (lines["codec-zstd"]["unread"], lines["single"].get("refused")) == (None, None)
        assert (ran.of("summary")[0]["refused"], lines["single"]["records"] > 0) == (1, True)
        metadata.write_text(before)
        for log, data in sound.items():
            log.unlink()
            log.write_bytes(data)
        again = run(*command, *dirs, "--out", out, "--json", code=0)
        assert {line["topic"]: line["records"] > 0 for line in again.of("partition")} == {
            "codec-zstd": True,
            "single": "export" not in command,
        }


def test_whose_log_dir_it_is(tmp_path: Path) -> None:
    dirs = replicas(golden("4.3.1-killed"), tmp_path, ("codec-zstd-0",), count=2)
    assert run("rescue", *dirs, "--out", tmp_path / "out", "--broker", "2").code == 0
    assert "node.id=2" in (tmp_path / "out" / "meta.properties").read_text()
    assert "has this id" in run("rescue", *dirs, "--out", tmp_path / "no", "--broker", "9").err


def test_a_second_time_it_tells_the_same_and_writes_nothing(tmp_path: Path) -> None:
    (source,) = replicas(golden("4.3.1-killed"), tmp_path, ("codec-zstd-0",), count=1)
    argv = ["rescue", source, "--out", tmp_path / "out", "--json"]
    first = run(*argv)
    written = sorted((tmp_path / "out").rglob("*"))
    before = [(each, each.stat().st_mtime_ns, each.stat().st_ino) for each in written]
    second = run(*argv)
    assert first.of("partition") == second.of("partition")
    assert [(each, each.stat().st_mtime_ns, each.stat().st_ino) for each in written] == before
    (row,) = first.of("partition")
    assert row["read"] == row["records"] + row["left_out"] + row["duplicates"] + row["not_asked_for"]
    assert "codec-zstd-0  216 records, offsets 0 to 215" in (tmp_path / "out" / "_rescue.txt").read_text()
    journal = (tmp_path / "out" / "_rescue.jsonl").read_text().splitlines()
    assert json.loads(journal[1]) == row


@pytest.mark.parametrize(
    "name",
    ["log-start-offset-checkpoint", "replication-offset-checkpoint", "orders-0/leader-epoch-checkpoint"],
)
def test_what_says_where_a_log_begins_and_is_refused_is_a_doubt(name: str, tmp_path: Path) -> None:
    """Records that were deleted came back, and no word was said."""
    home = write_broker(tmp_path, 1, [plain("orders", 0)])
    (home / "log-start-offset-checkpoint").write_text("0\n1\norders 0 30\n")
    rescued = ("-m", "segmend", "rescue", home, "--as", "jsonl", "--out")
    assert "90 records" in python(*rescued, tmp_path / "whole").stdout
    (home / name).chmod(0)
    ran = python(*rescued, tmp_path / "out", prefix=as_one_who_may_not())
    assert (ran.returncode, f"doubt: {home}/{name}: permission denied" in ran.stdout) == (4, True)
