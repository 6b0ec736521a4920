"""What changed between two audits of one OUT, and findings in order, however many."""

import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import one_in
from tests.fleet.build import plain, write_broker

from segmend.checks import Level
from segmend.fleet import delta, folder, growth, publish
from segmend.fleet.audit import AuditOutcome, AuditRequest, audit
from segmend.fleet.driver import LocalDriver
from segmend.fleet.history import changes, finished, sight
from segmend.fleet.publish import finding_objects
from segmend.fleet.rows import table
from segmend.fleet.vacuum import vacuum


def run(root: Path, out: Path) -> AuditOutcome:
    return audit(AuditRequest(paths=(f"{root}/*",), out=str(out), level=Level.STARTUP), LocalDriver(1))


@pytest.mark.slow
def test_a_fault_that_went_from_one_disk_to_another_of_the_same_name(tmp_path: Path) -> None:
    root = tmp_path / "mnt"
    disks = [write_broker(root / name, 1, [plain(name, 0, batches=4)], name="kafka") for name in ("x", "y")]
    run(root, tmp_path / "out")
    files = [disk / "recovery-point-offset-checkpoint" for disk in disks]
    sound = files[0].read_bytes()
    changed = []
    for first, second in ((b"?", sound), (sound, b"?"), (b"?", b"?")):
        files[0].write_bytes(first)
        files[1].write_bytes(second)
        row = run(root, tmp_path / "out").row
        changed.append((row["new_findings"], row["gone_findings"]))
    assert changed == [(1, 0), (1, 1), (1, 0)]


def test_an_audit_looks_at_no_file_of_earlier_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_broker(tmp_path / "mnt", 1, [plain("a", 0, batches=4)])
    run(tmp_path / "mnt", tmp_path / "out")
    created = []
    monkeypatch.setattr(folder, "entries", lambda path: pytest.fail(f"each file of {path} was asked for"))
    monkeypatch.setattr(delta.DeltaTable, "create", created.append)
    row = run(tmp_path / "mnt", tmp_path / "out").row
    assert (row["new_findings"], row["gone_findings"], created) == (0, 0, [])


@pytest.mark.parametrize("table_name", ["log_dirs", "partitions", "findings"])
@pytest.mark.parametrize("whole", one_in(2, [False, True]))
def test_rows_that_a_lost_commit_told_are_not_called_gone(
    tmp_path: Path, table_name: str, *, whole: bool
) -> None:
    disk, out = write_broker(tmp_path / "mnt", 1, [plain("a", 0, batches=4)]), tmp_path / "out"
    (disk / "recovery-point-offset-checkpoint").write_bytes(b"?")
    known = [run(tmp_path / "mnt", out).run.run_id for _ in range(2)]
    log = out / table_name / "_delta_log"
    shutil.rmtree(log.parent) if whole else max(log.glob("*.json")).unlink()
    lacking = rf"{table_name}: has 0 of the \d+ rows of the finished run"
    for command in (["diff-runs", str(out), *known], ["growth", str(out)]):
        told = subprocess.run(
            [sys.executable, "-m", "segmend", "fleet", *command], capture_output=True, text=True, check=False
        )
        assert re.search(lacking, told.stderr), told
        assert told.returncode == 8
    row = run(tmp_path / "mnt", out).row
    assert (row["new_findings"], row["gone_findings"]) == (None, None)
    assert re.search(rf"what is new or gone \(.*{lacking}", row["skipped"][-1])
    row = run(tmp_path / "mnt", out).row
    assert (row["new_findings"], row["gone_findings"]) == (0, 0)


def told(out: Path, name: str, dirs: Iterable[str], findings: Iterable[dict[str, Any]]) -> None:
    """A run of these findings."""
    one = delta.AuditRun(run_id=name, number=1)
    listed = [{"path": path, "partitions": 1} for path in dirs]
    rows = [{"code": "P08", "severity": "error", "dir": "/a", "source": "scan"} | each for each in findings]
    for kind, found in (("log_dirs", listed), ("findings", rows)):
        part = delta.write_part(str(out), one, kind, table(kind, found))
        delta.commit(str(out), one, "scan", [kind], [part] if part else [])


def differ(out: Path) -> tuple[int, ...]:
    """How many are new, gone, unseen."""
    changed = changes(str(out), *(sight(str(out), name, Level.DEEP) for name in ("before", "now")))
    return tuple(int(each.sum()) for each in (changed.new, changed.gone, changed.unseen))


def test_one_more_of_the_same_place_is_new(tmp_path: Path) -> None:
    same = [{"fingerprint": "f", "offset": offset} for offset in (7, 9)]
    told(tmp_path, "before", ["/a"], same[:1])
    told(tmp_path, "now", ["/a"], [*same, same[1]])  # two tasks told the second
    assert differ(tmp_path) == (1, 0, 0)


def test_a_disk_that_is_mounted_elsewhere_has_the_same_faults(tmp_path: Path) -> None:
    told(tmp_path, "before", ["/a"], [{"fingerprint": "f"}])
    told(tmp_path, "now", ["/b"], [{"fingerprint": "f", "dir": "/b"}])
    assert differ(tmp_path) == (0, 0, 0)


def test_a_replica_that_is_behind_is_not_gone_with_the_one_that_was_ahead(tmp_path: Path) -> None:
    told(tmp_path, "before", ["/a", "/b"], [{"fingerprint": "f", "source": "join"}, {"fingerprint": "g"}])
    told(tmp_path, "now", ["/a"], [])
    assert differ(tmp_path) == (0, 1, 1)


def test_findings_in_order_through_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(1)
    numbers = [draw.randrange(1000) for _ in range(60)]
    for at in range(0, 60, 12):
        rows = [{"file": f"{number:03}", "broker": number % 7} for number in numbers[at : at + 12]]
        told(tmp_path, "now", [], [*rows, {"code": "C01", "severity": "info", "file": "-"}])
        monkeypatch.setattr(delta, "APPLICATION", f"segmend{at}")
    expected = [*finding_objects(str(tmp_path), "now")]
    assert [each["broker"] for each in expected[:60]] == sorted(number % 7 for number in numbers)
    assert len(expected) == 65
    monkeypatch.setattr(publish, "_ROWS_AT_ONCE", 9)
    assert [*finding_objects(str(tmp_path), "now")] == expected


def test_a_run_comes_after_those_that_are_there_though_the_clock_went_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    disk, out = write_broker(tmp_path / "mnt", 1, [plain("a", 0, batches=4)]), str(tmp_path / "out")
    now = time.time_ns
    with monkeypatch.context() as tomorrow:
        tomorrow.setattr(time, "time_ns", lambda: now() + 86_400 * 10**9)
        run(tmp_path / "mnt", tmp_path / "out")
    assert "clock" not in caplog.text
    (disk / "recovery-point-offset-checkpoint").write_bytes(b"?")
    second, third = (run(tmp_path / "mnt", tmp_path / "out") for _ in range(2))
    assert f"the clock is behind run {second.run.run_id}" in caplog.text
    assert (second.row["new_findings"], third.row["new_findings"]) == (1, 0)
    assert [row["run_id"] for row in finished(out)][1:] == [each.run.run_id for each in (second, third)]
    assert growth.earlier_of(finished(out), None)["run_id"] == second.run.run_id
    assert vacuum(out, keep=1, older_than_ms=None, dry_run=False).runs[-1] == second.run.run_id
    assert [row["run_id"] for row in finished(out)] == [third.run.run_id]
