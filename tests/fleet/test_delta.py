"""A commit is all or nothing, and the same commit twice is one commit."""

import json
import os
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from deltalake import DeltaTable
from tests.fleet.build import plain, write_broker

from segmend.checks import Level
from segmend.errors import SegmendError, UsageError
from segmend.fleet import carried, delta, folder, history, publish
from segmend.fleet.audit import AuditRequest, audit
from segmend.fleet.driver import LocalDriver
from segmend.fleet.healing import heal
from segmend.fleet.rows import table
from segmend.fleet.schemas import STORED
from segmend.fleet.vacuum import vacuum
from segmend.frozen import replace


def rows(*topics: str) -> object:
    return table("segments", [{"topic": topic, "broker": 1} for topic in topics])


def test_only_committed_files_count_and_only_once(tmp_path: Path) -> None:
    out, run = str(tmp_path / "out"), delta.new_run()
    kept = delta.write_part(out, run, "segments", rows("a", "b"))
    assert kept
    delta.write_part(out, run, "segments", rows("orphan of a failed attempt"))
    for _ in range(2):
        delta.commit(out, run, "scan", ["segments", "findings"], [kept])
    assert delta.read(out, "segments")["topic"].to_pylist() == ["a", "b"]
    assert delta.read(out, "segments", run_id="another").num_rows == 0


def test_phases_of_a_run_add_up_and_every_run_is_a_version(tmp_path: Path) -> None:
    out, first = str(tmp_path), delta.AuditRun(run_id="one", number=1)
    for run in (first, delta.AuditRun(run_id="two", number=2)):
        for phase in ("scan", "join"):
            part = delta.write_part(out, run, "segments", rows(phase))
            delta.commit(out, run, phase, ["segments"], [part] if part else [])
    assert sorted(delta.read(out, "segments", run_id="two")["topic"].to_pylist()) == ["join", "scan"]
    assert delta.read(out, "segments").num_rows == 4
    assert DeltaTable(tmp_path / "segments").version() == 4


def test_a_run_that_began_before_another_one_was_done_loses_nothing(tmp_path: Path) -> None:
    out = str(tmp_path)
    for run in (delta.AuditRun(run_id="two", number=2), delta.AuditRun(run_id="one", number=1)):
        part = delta.write_part(out, run, "segments", rows(run.run_id))
        delta.commit(out, run, "scan", ["segments"], [part] if part else [])
    assert delta.read(out, "segments", run_id="one")["topic"].to_pylist() == ["one"]


def test_a_table_that_nobody_wrote_is_empty(tmp_path: Path) -> None:
    assert delta.read(str(tmp_path), "findings").schema == STORED["findings"]
    assert delta.write_part(str(tmp_path), delta.new_run(), "segments", rows()) is None


def test_a_place_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "segments").write_text("a file")
    with pytest.raises(SegmendError, match="segments: the Delta commit failed"):
        delta.commit(str(tmp_path), delta.new_run(), "scan", ["segments"], [])


@pytest.mark.parametrize("name", ["a%20b", "a\\b"])
def test_a_path_that_delta_reads_as_another_is_refused_before_all(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="Delta's library reads no table"):
        folder.make_folder(str(tmp_path / name))
    assert not list(tmp_path.iterdir())


def test_a_table_is_not_looked_for_in_another_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Delta's library reads `a b` for what lies in `a%20b`, also by a link, and from where one stands."""
    named, read = tmp_path / "a%20b", tmp_path / "a b"
    named.mkdir()
    run = delta.new_run()
    delta.commit(str(read), run, "scan", ["segments"], [])
    (tmp_path / "link").symlink_to(named)
    monkeypatch.chdir(named)
    for out in (named, tmp_path / "link", tmp_path / "link/c", "d"):
        with pytest.raises(UsageError, match="reads no table where %20 is in "):
            folder.make_folder(str(out))
        with pytest.raises(UsageError, match="reads no table where %20 is in "):
            delta.opened(str(out), "segments")
    assert not list(named.iterdir())
    monkeypatch.chdir(tmp_path)
    assert delta.opened("a b", "segments")


@pytest.mark.parametrize("name", ["a 100% b", "a#b?c[1]", "ünï'~:&+"])
def test_any_other_path_is_one_of_tables(tmp_path: Path, name: str) -> None:
    out, run = str(tmp_path / name), delta.new_run()
    folder.make_folder(out)
    part = delta.write_part(out, run, "segments", rows("a"))
    assert part
    delta.commit(out, run, "scan", ["segments"], [part])
    assert delta.read(out, "segments").num_rows == 1


def test_a_file_that_is_gone_is_one_line(tmp_path: Path) -> None:
    out, run = str(tmp_path), delta.new_run()
    part = delta.write_part(out, run, "segments", rows("a"))
    assert part
    delta.commit(out, run, "scan", ["segments"], [part])
    (tmp_path / "segments" / part.path).unlink()
    with pytest.raises(SegmendError, match="a file of an earlier run is gone or damaged"):
        delta.read(out, "segments")


def test_names_that_are_no_utf8_are_stored_readably() -> None:
    found = table("segments", [{"topic": b"caf\xe9".decode("utf-8", "surrogateescape")}])
    assert found["topic"].to_pylist() == ["caf\\xe9"]


def test_a_table_of_an_earlier_release_gets_the_new_columns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, schema = str(tmp_path), STORED["findings"]
    for number, known in enumerate((schema.remove(schema.get_field_index("broker_effect")), schema), 1):
        monkeypatch.setitem(STORED, "findings", known)
        run = delta.AuditRun(run_id=str(number), number=number)
        found = table("findings", [{"code": "L05", "broker_effect": {"effect": "reads-fail"}}])
        part = delta.write_part(out, run, "findings", found.select(known.names[1:]))
        assert part
        delta.commit(out, run, "scan", ["findings"], [part])
    told = delta.read(out, "findings")["broker_effect"].to_pylist()
    assert sorted(effect["effect"] if effect else "" for effect in told) == ["", "reads-fail"]
    names = [field.name for field in DeltaTable(tmp_path / "findings").schema().fields]
    assert names[-1] == "broker_effect"


def test_a_reader_of_one_run_opens_the_files_of_that_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, opened = str(tmp_path), []
    for number in range(5):
        run = delta.AuditRun(run_id=f"run-{number}", number=number + 1)
        part = delta.write_part(out, run, "segments", rows("a"))
        assert part
        delta.commit(out, run, "scan", ["segments"], [part])
    read_table = delta.pq.read_table
    monkeypatch.setattr(
        delta.pq, "read_table", lambda path, **k: opened.append(path) or read_table(path, **k)
    )
    assert delta.read(out, "segments", run_id="run-3")["run_id"].to_pylist() == ["run-3"]
    assert len(opened) == 1
    assert delta.runs(out, "segments") == [f"run-{number}" for number in range(5)]


def test_a_table_without_partitions_goes_on_as_it_is(tmp_path: Path) -> None:
    schema = STORED["segments"]
    DeltaTable.create(str(tmp_path / "segments"), schema, mode="ignore")
    for number in (1, 2):
        run = delta.AuditRun(run_id=f"run-{number}", number=number)
        part = delta.write_part(str(tmp_path), run, "segments", rows("a"))
        assert part
        delta.commit(str(tmp_path), run, "scan", ["segments"], [part])
    assert delta.read(str(tmp_path), "segments", run_id="run-2")["run_id"].to_pylist() == ["run-2"]
    assert delta.runs(str(tmp_path), "segments") == ["run-1", "run-2"]
    found = DeltaTable(tmp_path / "segments").to_pyarrow_table()
    assert sorted(found["run_id"].to_pylist()) == ["run-1", "run-2"]


def committed(out: str, number: int, *names: str) -> None:
    """A run with a row in each of the tables."""
    run = delta.AuditRun(run_id=f"run-{number}", number=number)
    for name in names:
        row = {"started": datetime.fromtimestamp(number, UTC)} if name == "runs" else {}
        part = delta.write_part(out, run, name, table(name, [row]))
        assert part
        delta.commit(out, run, "scan", [name], [part])


@pytest.mark.parametrize("kept", [0, 40, 0.5, -2], ids=["empty", "a line", "half", "but its end"])
def test_a_torn_commit_of_a_run_that_did_not_finish_is_set_aside(tmp_path: Path, kept: float) -> None:
    out = str(tmp_path)
    committed(out, 1, "segments", "runs")
    committed(out, 2, "segments")
    last = tmp_path / "segments/_delta_log/00000000000000000002.json"
    whole = last.read_bytes()
    torn = {0: b"", 40: whole[: whole.rindex(b"\n") + 1], 0.5: whole[: len(whole) // 2]}.get(kept, whole[:-2])
    last.write_bytes(torn)
    with pytest.raises(SegmendError, match=r"2\.json: torn; the next audit into"):
        delta.runs(out, "segments")
    heal(out)
    assert delta.runs(out, "segments") == ["run-1"]
    assert [each.read_bytes() for each in last.parent.glob("*.torn-*")] == [torn]
    committed(out, 3, "segments", "runs")
    assert delta.runs(out, "segments") == delta.runs(out) == ["run-1", "run-3"]


def test_a_torn_commit_of_a_finished_run_is_left_and_refused(tmp_path: Path) -> None:
    """Its findings would be gone, and nobody would be told."""
    out = str(tmp_path)
    for number in (1, 2):
        committed(out, number, "findings", "runs")
    last = tmp_path / "findings/_delta_log/00000000000000000002.json"
    last.write_bytes(b"")
    with pytest.raises(SegmendError, match="torn, and with it what the finished run run-2 told in findings"):
        heal(out)
    assert last.read_bytes() == b""
    assert len([*last.parent.iterdir()]) == 3


def test_a_torn_commit_of_runs_behind_that_of_one_file_is_set_aside(tmp_path: Path) -> None:
    """The files that became one lie there still, named by no commit."""
    out = str(tmp_path)
    for number in range(10, 44):
        committed(out, number, "runs")
    assert len(DeltaTable(tmp_path / "runs").file_uris()) == 2, "run-42 made it one"
    log = tmp_path / "runs/_delta_log"
    last = max(log.glob("0*.json"))
    last.write_bytes(last.read_bytes()[:-2])
    heal(out)
    assert delta.runs(out) == [f"run-{number}" for number in range(10, 43)]
    committed(out, 44, "runs")
    assert delta.runs(out)[-1] == "run-44"


def test_the_rows_of_very_many_runs_are_in_few_files(tmp_path: Path) -> None:
    out, most = str(tmp_path), 0
    for number in range(100, 170):
        committed(out, number, "runs", *(["segments"] if number < 105 else []))
        most = max(most, len(DeltaTable(tmp_path / "runs").file_uris()))
    assert most <= 32
    ids = [f"run-{number}" for number in range(100, 170)]
    assert delta.runs(out) == ids
    assert sorted(delta.read(out, "runs")["run_id"].to_pylist()) == ids
    assert delta.read(out, "runs", run_id="run-133")["run_id"].to_pylist() == ["run-133"]
    assert len(DeltaTable(tmp_path / "segments").file_uris()) == 5, "told apart by run"
    # Who opened the table before reads on; a day later vacuum takes them.
    assert len([*(tmp_path / "runs").glob("*.parquet")]) > most
    for each in (tmp_path / "runs").glob("*.parquet"):
        os.utime(each, (time.time() - 2 * 86400,) * 2)
    vacuum(out, keep=None, older_than_ms=0, dry_run=False)
    assert len([*(tmp_path / "runs").glob("*.parquet")]) == 1
    # What is left of one file is written by Delta's library, in types of its own.
    vacuum(out, keep=3, older_than_ms=None, dry_run=False)
    assert [row["run_id"] for row in history.finished(out)] == ids[-3:]
    assert delta.read(out, "runs", run_id=ids[-2])["run_id"].to_pylist() == ids[-2:-1]
    newest = history.newest(out)
    assert newest
    assert newest["run_id"] == ids[-1]


def test_an_audit_opens_each_table_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a thousand runs before it each opening takes some 40 ms; and what it has written it reads."""
    write_broker(tmp_path / "f", 1, [plain("t", 0)])
    monkeypatch.setattr(carried, "TICK_NS", 0)  # files as young as these are read again
    request = AuditRequest(paths=(str(tmp_path / "f"),), out=str(tmp_path / "o"))
    first = audit(request, LocalDriver(1))
    opened: list[str] = []
    monkeypatch.setattr(delta, "DeltaTable", lambda home: opened.append(home) or DeltaTable(home))
    second = audit(replace(request, since=carried.LAST), LocalDriver(1))
    assert second.row["carried_segments"] > 0
    assert (second.row["new_findings"], second.row["gone_findings"]) == (0, 0)
    assert sorted(opened) == sorted({*opened})
    assert {*delta.runs(request.out)} == {first.run.run_id, second.run.run_id}  # of one second perhaps
    assert len(opened) == len({*opened}) + 1, "nothing stays open behind it"


@pytest.mark.slow
def test_who_opens_a_table_of_many_runs_reads_few_commits(tmp_path: Path) -> None:
    out, log = str(tmp_path), tmp_path / "segments/_delta_log"
    for number in range(1, 22):
        run = delta.AuditRun(run_id=f"run-{number:02d}", number=number)
        part = delta.write_part(out, run, "segments", rows("a"))
        delta.commit(out, run, "scan", ["segments"], [part] if part else [])
        for each in log.iterdir() if number == 15 else ():
            os.utime(each, (time.time() - 8 * 86400,) * 2)
    told = {each.name.partition(".")[0].lstrip("0"): each.name for each in log.glob("*.checkpoint.parquet")}
    assert sorted(told) == ["19", "9"]
    assert not (log / "00000000000000000008.json").exists()
    assert len(delta.runs(out, "segments")) == 21
    assert sorted(delta.read(out, "segments")["run_id"].to_pylist()) == delta.runs(out, "segments")


def test_the_newest_run_is_known_without_the_rows_of_others(tmp_path: Path) -> None:
    out = str(tmp_path)
    assert history.newest(out) is None
    for second, started in ((1, 5), (2, 9), (2, 7)):
        run = delta.AuditRun(run_id=f"20260101T00000{second}Z-{started:06d}", number=started)
        row = {"started": datetime.fromtimestamp(started, UTC), "level": "deep"}
        part = delta.write_part(out, run, "runs", table("runs", [row]))
        delta.commit(out, run, "run", ["runs"], [part] if part else [])
        if second == 1 and part:
            (tmp_path / "runs" / part.path).unlink()
    newest = history.newest(out)
    assert newest
    assert newest["run_id"] == "20260101T000002Z-000009"
    assert carried.since(out, carried.LAST, Level.DEEP) == (newest["run_id"],)


def test_a_large_table_is_read_some_files_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, run = str(tmp_path), delta.AuditRun(run_id="20260101T000001Z-aaaaaa", number=1)
    written = [
        delta.write_part(out, run, "log_dirs", table("log_dirs", [{"broker": n, "path": "/d"}] * 3))
        for n in range(5)
    ]
    delta.commit(out, run, "scan", ["log_dirs"], [part for part in written if part])
    monkeypatch.setattr(delta, "_AT_ONCE", 6)
    parts = list(delta.parts(out, "log_dirs", run_id=run.run_id, columns=["broker"]))
    assert [part.num_rows for part in parts] == [6, 6, 3]
    assert sorted(delta.read(out, "log_dirs")["broker"].to_pylist()) == sorted([*range(5)] * 3)
    assert list(delta.parts(out, "segments", run_id=None, columns=["file"])) == []


def test_the_first_finding_of_each_code_whatever_file_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, run = str(tmp_path), delta.AuditRun(run_id="20260101T000001Z-aaaaaa", number=1)
    cause = [("cause", json.dumps({"code": "K01", "file": None}))]
    told = [
        ("info", "A1", 1, "/d", cause),
        ("error", "Z9", 2, "/d", []),
        ("info", "A1", 3, "/d", cause),
        ("info", "A1", 4, "/d", []),
        ("info", "A1", 4, "/c", []),
        ("error", "Z9", 1, "/d", []),
    ]
    names = ("severity", "code", "broker", "dir", "detail")
    rows = [dict(zip(names, each, strict=True)) | {"message": str(n)} for n, each in enumerate(told)]
    written = [delta.write_part(out, run, "findings", table("findings", [row])) for row in rows]
    delta.commit(out, run, "scan", ["findings"], [part for part in written if part])
    for at_once in (1, 4, 100):
        monkeypatch.setattr(delta, "_AT_ONCE", at_once)
        found = [(each["code"], each["message"], n) for each, n in publish.leading(out, run.run_id)]
        assert found == [("Z9", "5", 2), ("A1", "4", 4)]


def test_vacuum_leaves_an_audit_alone_that_takes_days(tmp_path: Path) -> None:
    out, done = str(tmp_path), delta.AuditRun(run_id="20250101T000000Z-aaaaaa", number=1)
    long = delta.AuditRun(run_id="20260101T000000Z-bbbbbb", number=2)
    row = {"started": datetime.fromtimestamp(1, UTC), "level": "deep"}
    for run, name, found in ((done, "runs", table("runs", [row])), (long, "segments", rows("committed"))):
        part = delta.write_part(out, run, name, found)
        delta.commit(out, run, "scan", [name], [part] if part else [])
    delta.write_part(out, long, "segments", rows("first"))
    files = [*(tmp_path / "segments").glob("*.parquet")]
    for file in files:
        os.utime(file, (1, 1))
    delta.write_part(out, long, "partitions", table("partitions", [{"topic": "last", "broker": 1}]))
    assert vacuum(out, keep=None, older_than_ms=None, dry_run=False).files == 0
    assert all(file.exists() for file in files)
    for file in tmp_path.glob("partitions/*.parquet"):
        os.utime(file, (1, 1))
    assert vacuum(out, keep=None, older_than_ms=None, dry_run=False).runs == (long.run_id,)
    assert not any(file.exists() for file in files)


def test_vacuum_makes_one_file_of_the_rows_of_all_runs(tmp_path: Path) -> None:
    out = str(tmp_path)

    def one_more(number: int) -> None:
        run = delta.AuditRun(run_id=f"20260101T00000{number}Z-aaaaaa", number=number)
        row = {"started": datetime.fromtimestamp(number, UTC), "level": "deep", "paths": ["/a", "/b"]}
        part = delta.write_part(out, run, "runs", table("runs", [row]))
        delta.commit(out, run, "run", ["runs"], [part] if part else [])

    def told(*numbers: int) -> None:
        ids = [f"20260101T00000{number}Z-aaaaaa" for number in numbers]
        assert delta.runs(out) == ids
        assert [row["run_id"] for row in history.finished(out)] == ids
        newest = history.newest(out)
        assert newest
        assert (newest["run_id"], newest["paths"]) == (ids[-1], ["/a", "/b"])
        assert delta.read(out, "runs", run_id=ids[0])["run_id"].to_pylist() == ids[:1]

    for number in range(1, 6):
        one_more(number)
    files = tmp_path / "runs"
    swept = vacuum(out, keep=None, older_than_ms=0, dry_run=False)
    assert (len([*files.glob("*.parquet")]), swept.files, swept.runs) == (1, 5, ())
    told(1, 2, 3, 4, 5)
    one_more(6)
    told(1, 2, 3, 4, 5, 6)
    vacuum(out, keep=3, older_than_ms=None, dry_run=False)
    assert len([*files.glob("*.parquet")]) == 1
    told(4, 5, 6)
    one_more(7)
    told(4, 5, 6, 7)


def test_two_audits_write_one_summary_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "summary.json"

    def meanwhile(new: str, target: str) -> None:
        monkeypatch.undo()
        folder.save(target, "another's")
        Path(new).replace(target)

    monkeypatch.setattr("os.replace", meanwhile)
    folder.save(str(path), "mine")
    assert path.read_text() == "mine"
    assert [*tmp_path.iterdir()] == [path]
