"""Run after run, and killed at any moment, each record comes into the table once; another log never does."""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from tests.cli.run import Ran, run
from tests.copies import copy_tree
from tests.faults.on_disk import batches_of, flip
from tests.golden.shared import golden
from tests.rescue.replicas import replicas
from tests.surgery.faulty import Died, Disk, Mortal

from segmend.cluster.cluster_dirs import FleetDirs
from segmend.logdir.log_dir import LogDir
from segmend.rescue.additions import Additions
from segmend.rescue.export import export
from segmend.rescue.request import RescueRequest
from segmend.rescue.run import here
from segmend.surgery.writing.effects import Effects

NAME = "codec-none-0"


def table(out: Path) -> list[dict[str, Any]]:
    """The rows, with the columns by which it is partitioned."""
    delta = DeltaTable(str(out))
    assert delta.metadata().partition_columns == ["topic", "date"]
    found = []
    actions = pa.table(delta.get_add_actions(flatten=True)).to_pylist()
    for each in actions:
        rows = pq.ParquetFile(out / each["path"]).read().to_pylist()
        assert len(rows) == each["num_records"]
        names = {"topic": each["partition.topic"], "date": each["partition.date"]}
        found += [row | names for row in rows]
    return found


def offsets(out: Path) -> list[int]:
    """Of all rows."""
    return sorted(row["offset"] for row in table(out))


def test_every_record_of_a_golden_dir_is_there_once_with_its_date(tmp_path: Path) -> None:
    dirs, out = sorted(golden("4.3.1-killed").glob("b1/d*")), tmp_path / "out"
    for _ in range(2):
        ran = run("export", *dirs, "--out", out, "--topic", "[hnt]*", "--json", code=0)
    assert [row["records"] for row in ran.of("summary")] == [0]
    assert DeltaTable(str(out)).version() == 1
    run("rescue", *dirs, "--out", tmp_path / "lines", "--as", "jsonl", "--topic", "[hnt]*")
    lines = [
        json.loads(line)
        for path in (tmp_path / "lines").glob("*-*.jsonl")
        for line in path.read_text().splitlines()
    ]
    same = ("topic", "partition", "offset", "aborted", "transactional", "sequence", "file", "position")
    rows = table(out)
    assert Counter(tuple(row[each] for each in same) for row in rows) == Counter(
        tuple(row[each] for each in same) for row in lines
    )
    for row in rows:
        if row["topic"] != "times":
            assert row["date"] == row["timestamp"].astimezone(UTC).date()
    known = {row["offset"]: row["date"] for row in rows if row["topic"] == "times"}
    for line in lines:
        if line["topic"] == "times":
            told = isinstance(line["timestamp"], str) and line["timestamp"] != "1969-12-31T23:59:59.999Z"
            wanted = datetime.fromisoformat(line["timestamp"]).date() if told else None
            assert known[line["offset"]] == wanted


class Growing:
    """A log dir with one partition, of which any number of batches may be there."""

    def __init__(self, golden: Path, root: Path, name: str = NAME) -> None:
        (self.dir,) = replicas(golden, root, (name,), count=1)
        for each in self.dir.glob("*checkpoint"):
            each.unlink()
        self.home, self.whole = self.dir / name, root / "whole"
        copy_tree(self.home, self.whole)
        self.ends = []
        for log in sorted(self.whole.glob("*.log")):
            self.ends += [(log.name, batch.end, batch.last_offset) for batch in batches_of(log)]

    def show(self, batches: int, more: int = 0) -> int:
        """Have so many batches, and some bytes of the next; the log end offset."""
        name, end, last = self.ends[batches - 1]
        for file in self.whole.glob("[0-9]*.*"):
            (self.home / file.name).unlink(missing_ok=True)
            # A snapshot is of the offset that its log had reached; the others, of the log that begins there.
            if int(file.stem) <= last + 1 if file.suffix == ".snapshot" else file.stem <= Path(name).stem:
                data = file.read_bytes()
                (self.home / file.name).write_bytes(data[: end + more] if file.name == name else data)
        return last + 1

    def export(self, out: Path, *options: object) -> Ran:
        """Run it."""
        return run("export", self.dir, "--out", out, *options)


@pytest.mark.slow
def test_of_a_growing_log_each_run_adds_what_is_new(tmp_path: Path) -> None:
    log, out = Growing(golden("4.3.1-killed"), tmp_path), tmp_path / "out"
    many = len(log.ends)
    assert many > 6
    for batches, more in ((1, 0), (3, 30), (3, 100), (4, 0), (many - 1, 70), (many, 0)):
        end = log.show(batches, more)
        ran = log.export(out, "--json")
        assert ran.code in ({0} if not more else {0, 4}), ran.err
        assert [row["next_offset"] for row in ran.of("partition")] == [end]
        assert offsets(out) == [*range(end)]


def test_a_batch_that_is_not_sound_at_the_end_is_looked_at_again(tmp_path: Path) -> None:
    log, out = Growing(golden("4.3.1-killed"), tmp_path), tmp_path / "out"
    end = log.show(len(log.ends))
    name, behind, _ = log.ends[-1]
    flip(log.home / name, behind - 1)
    assert log.export(out).code == 4
    assert len(offsets(out)) < end
    flip(log.home / name, behind - 1)
    assert log.export(out).code == 0
    assert offsets(out) == [*range(end)]


def test_records_without_a_time_have_no_date(tmp_path: Path) -> None:
    dirs = sorted(golden("1.1.0-killed").glob("b1/d*"))
    assert run("export", *dirs, "--out", tmp_path / "out", "--topic", "v0-gzip").code == 0
    assert {row["date"] for row in table(tmp_path / "out")} == {None}


@pytest.mark.slow
def test_another_log_is_refused(tmp_path: Path) -> None:
    log, out = Growing(golden("4.3.1-killed"), tmp_path), tmp_path / "out"
    many, end = len(log.ends), log.show(4)
    assert log.export(out).code == 0

    def refused(word: str, *options: object, code: int = 8) -> None:
        ran = log.export(out, *options)
        # Of a partition it is in the report, as the others are.
        assert (ran.code, ran.err.count("\n")) == (code, code == 16)
        assert word in (ran.err if code == 16 else ran.out)
        assert offsets(out) == [*range(end)]

    log.show(3)
    refused("the log was truncated or made anew")
    refused("another --isolation", "--isolation", "read_committed", code=16)
    log.show(many)
    metadata = log.home / "partition.metadata"
    before = metadata.read_text()
    metadata.write_text("version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw")
    refused("has another topic id")
    metadata.write_text(before)
    for each in log.home.glob("*.log"):
        each.unlink()
    for each in golden("4.3.1-killed").glob("b1/d*/codec-zstd-0/*.log"):
        shutil.copy(each, log.home)
    refused("has another record at offset")
    log.show(many)
    assert log.export(out).code == 0
    assert offsets(out) == [*range(log.ends[-1][2] + 1)]
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    assert "is not empty" in log.export(tmp_path / "full").err
    run("rescue", log.dir, "--out", tmp_path / "other", "--as", "delta")
    assert "holds another table" in log.export(tmp_path / "other").err
    assert "never writes into its source" in log.export(log.home / "x").err


def test_what_retention_took_before_it_was_exported_is_said(tmp_path: Path) -> None:
    log, out = Growing(golden("4.3.1-killed"), tmp_path), tmp_path / "out"
    end = log.show(1)
    log.export(out)
    log.show(len(log.ends))
    first, *_, last = sorted(log.home.glob("*.log"))
    assert first != last
    for each in log.home.glob("*.log"):
        if each != last:
            each.unlink()
    start = f"0\n1\n{NAME[:-2]} 0 {int(last.stem)}\n"
    (log.dir / "log-start-offset-checkpoint").write_text(start)
    ran = log.export(out, "--json")
    (row,) = ran.of("partition")
    assert (ran.code, row["missing"]) == (4, [[end, int(last.stem) - 1]])
    assert "were deleted from the log before an export took them" in row["doubts"][0]


def test_committed_records_are_taken_up_to_the_first_open_transaction(tmp_path: Path) -> None:
    (source,) = replicas(golden("4.3.1-killed"), tmp_path, ("txn-0", "txn-open-0"), count=1)
    argv = ["export", source, "--out", tmp_path / "out", "--isolation", "read_committed", "--json"]
    ran = run(*argv, code=0)
    found = {row["topic"]: (row["records"], row["aborted"]) for row in ran.of("partition")}
    assert found["txn"] == (252 - 54, 54)
    assert not any(row["aborted"] is None for row in table(tmp_path / "out"))
    assert found["txn-open"][0] < 24


@pytest.mark.slow
def test_killed_anywhere_each_record_is_there_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Growing(golden("4.3.1-killed"), tmp_path)

    def go(out: Path, fx: Effects) -> None:
        request = RescueRequest(dirs=(str(log.dir),), out=str(out), form="delta")
        opened = [LogDir.open(str(log.dir))]
        assert list(export(request, FleetDirs(opened), (), lambda form: here(lambda *_: None, form), fx))

    log.show(2)
    first = tmp_path / "first"
    go(first, Disk())
    log.show(len(log.ends))
    commit = Additions.commit

    def dies(before: bool) -> Callable[..., None]:
        def broken(self: Additions, lines: Any) -> None:
            if not before:
                commit(self, lines)
            raise Died

        return broken

    shutil.copytree(first, tmp_path / "counted")
    whole = Disk()
    go(tmp_path / "counted", whole)
    wanted = offsets(tmp_path / "counted")
    assert wanted == [*range(log.ends[-1][2] + 1)]
    for at in [*range(1, whole.calls + 1), True, False]:
        out = tmp_path / f"out{at!r}"
        shutil.copytree(first, out)
        with monkeypatch.context() as patch:
            if isinstance(at, bool):
                patch.setattr(Additions, "commit", dies(at))
            fx = Disk() if isinstance(at, bool) else Mortal(at, half=bool(at % 2))
            with pytest.raises(Died):
                go(out, fx)
        assert offsets(out) in (wanted, offsets(first))
        go(out, Disk())
        assert offsets(out) == wanted


@pytest.mark.parametrize("command", [("export",), ("rescue", "--as", "delta")])
def test_a_torn_commit_is_one_line_that_says_what_to_do(command: tuple[str, ...], tmp_path: Path) -> None:
    log, out = Growing(golden("4.3.1-killed"), tmp_path), tmp_path / "out"
    end = log.show(2)
    argv = (*command, log.dir, "--out", out)
    run(*argv, code=0)
    if "rescue" in command:
        # As a kill leaves it between the commit and the last line of the journal.
        journal = out / "_rescue.jsonl"
        journal.write_text("".join(journal.read_text().splitlines(keepends=True)[:-1]))
    commits = sorted((out / "_delta_log").glob("*.json"))
    whole = commits[0].read_bytes(), commits[-1].read_bytes()
    commits[-1].write_bytes(whole[1][: len(whole[1]) // 2])
    ran = run(*argv, code=8)
    assert (ran.err.count("\n"), f"{commits[-1]}: the last commit of the table is torn" in ran.err) == (
        1,
        True,
    )
    commits[-1].rename(tmp_path / "torn")
    run(*argv, code=0)
    delta = DeltaTable(str(out))
    rows = [row for name in delta.file_uris() for row in pq.ParquetFile(name).read(["offset"]).to_pylist()]
    assert sorted(row["offset"] for row in rows) == [*range(end)]
    if "export" in command:
        commits[0].write_bytes(whole[0][: len(whole[0]) // 2])
        ran = run(*argv, code=8)
        assert (ran.err.count("\n"), f"{commits[0]}: is not as it was written" in ran.err) == (1, True), (
            ran.err
        )
