"""What lies in an OUT of many audits: `segmend fleet runs`, `diff-runs`, `vacuum`."""

import json
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from tests.cli.run import Ran, as_one_who_may_not, python, run
from tests.fleet.build import three_brokers

from segmend.fleet import delta, growth
from segmend.fleet.schemas import STORED


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    return three_brokers(tmp_path / "fleet")


def audit(fleet: Path, *options: object) -> Ran:
    out = ("--out", fleet.parent / "out", "--driver", "local", "--no-report")
    return run("fleet", "audit", fleet, *out, *options)


def told(command: str, fleet: Path, *options: object) -> list[Any]:
    ran = run("fleet", command, fleet.parent / "out", *options, "--json")
    return [ran.code, *map(json.loads, ran.out.splitlines())]


@pytest.mark.slow
def test_what_changed_between_two_audits(fleet: Path) -> None:
    audit(fleet)
    for file in (fleet / "b2").rglob("*.timeindex"):
        file.unlink()
    audit(fleet)
    code, *found, last = told("diff-runs", fleet)
    assert code == 4
    assert {(each["change"], each["broker"]) for each in found} == {("new", 2)}
    assert "I13" in {each["code"] for each in found}
    assert (last["new"], last["gone"], last["unseen"]) == (len(found), 0, 0)
    # Nobody looked at broker 2 again: what was wrong there is not gone, it is not known.
    (fleet / "b2").rename(fleet.parent / "b2")
    audit(fleet)
    code, *_, last = told("diff-runs", fleet)
    assert (last["gone"], last["unseen"]) == (0, len(found))
    assert "not looked at again" in run("fleet", "diff-runs", fleet.parent / "out").out
    runs = told("runs", fleet)
    ids = [each["run_id"] for each in runs[1:]]
    assert len(ids) == 3
    assert told("diff-runs", fleet, ids[0], ids[2])[-1]["before"] == ids[0]
    assert "no run begins with 1999" in run("fleet", "diff-runs", fleet.parent / "out", "1999").err


@pytest.mark.slow
def test_a_shallower_look_makes_nothing_gone(fleet: Path) -> None:
    log = next((fleet / "b1").rglob("*.log"))
    log.write_bytes(log.read_bytes()[:-1] + b"\xff")  # a byte of a value: only --deep sees it
    deep = audit(fleet, "--deep")
    assert deep.code == 4
    audit(fleet, "--startup")
    summary = told("diff-runs", fleet)[-1]
    assert summary["gone"] == 0
    assert summary["unseen"] > 0


@pytest.mark.slow
def test_vacuum_drops_old_runs_and_nothing_else(fleet: Path) -> None:
    out = fleet.parent / "out"
    for _ in range(3):
        audit(fleet)
    ids = [each["run_id"] for each in told("runs", fleet)[1:]]
    kept = {name: delta.read(str(out), name, run_id=ids[2]) for name in STORED}
    stray, young = out / "segments" / "part-killed.parquet", out / "segments" / "part-at-work.parquet"
    for path in (stray, young):
        path.write_bytes(b"PAR1")
    long_ago = time.time() - 2 * 24 * 3600
    os.utime(stray, (long_ago, long_ago))
    files = sorted(out.rglob("*.parquet"))
    dry = told("vacuum", fleet, "--keep", 1, "--dry-run")
    assert (dry[0], dry[1]["runs"], sorted(out.rglob("*.parquet"))) == (0, sorted(ids[:2]), files)
    assert not (out / "segments" / "_delta_log" / "_last_checkpoint").exists()
    swept = told("vacuum", fleet, "--keep", 1)
    assert (swept[0], swept[1]["runs"], swept[1]["files"]) == (0, sorted(ids[:2]), dry[1]["files"])
    assert not stray.exists()
    assert young.exists()
    assert (out / "segments" / "_delta_log" / "_last_checkpoint").exists()
    assert {name: delta.read(str(out), name) for name in STORED} == kept
    assert DeltaTable(out / "segments").to_pyarrow_table().num_rows == kept["segments"].num_rows
    assert told("vacuum", fleet)[0] == 0
    assert told("vacuum", fleet, "--keep", 1)[1]["runs"] == []


def test_no_run_is_one_line(tmp_path: Path) -> None:
    for command in ("runs", "diff-runs", "vacuum"):
        ran = run("fleet", command, tmp_path)
        assert (ran.code, ran.out) == (8, "")
        assert "no finished run of `segmend fleet audit` in it" in ran.err
    assert run("fleet", "vacuum", tmp_path, "--keep", 0).code == 16


@pytest.mark.slow
def test_an_out_that_may_not_be_changed_is_one_line(fleet: Path) -> None:
    for _ in range(2):
        audit(fleet)
    logs = [*(fleet.parent / "out").glob("*/_delta_log")]
    for log in logs:
        log.chmod(0o555)
    args = ("fleet", "vacuum", fleet.parent / "out", "--keep", 1)
    ran = python("-m", "segmend", *args, prefix=as_one_who_may_not())
    for log in logs:
        log.chmod(0o755)
    assert (ran.returncode, ran.stderr.count("\n")) == (8, 1)
    assert "it cannot be changed" in ran.stderr


@pytest.mark.slow
@pytest.mark.parametrize("refused", ["findings", "runs", "findings/_delta_log", "runs/_delta_log/*0.json"])
def test_an_out_that_may_not_be_read_is_one_line(fleet: Path, refused: str) -> None:
    audit(fleet)
    audit(fleet)
    out = fleet.parent / "out"
    for each in out.glob(refused):
        each.chmod(0)
    again = ("audit", fleet, "--out", out, "--driver", "local", "--no-report")
    for args in (("vacuum", out, "--keep", 1), ("diff-runs", out), again):
        ran = python("-m", "segmend", "fleet", *args, prefix=as_one_who_may_not())
        assert (ran.returncode, ran.stderr.count("\n")) == (8, 1), ran.stderr
        assert "ermission denied" in ran.stderr


@pytest.mark.slow
def test_growth_names_what_only_one_audit_could_list(fleet: Path) -> None:
    """What a topic gained is then no growth."""
    out = fleet.parent / "out"
    run("fleet", "audit", fleet / "b1", "--out", out, "--driver", "local", "--no-report")
    audit(fleet)
    lines = run("fleet", "growth", out).out.splitlines()
    assert lines[-1].startswith("listed by one of both only, and so in what topics gained or lost: ")
    assert run("fleet", "growth", out, "--json").json[-1]["in_one_only"] == sorted(
        str(path) for path in fleet.glob("b[23]/*") if path.is_dir()
    )


def test_what_a_script_left_empty_is_refused(fleet: Path) -> None:
    for option in ("--out", "--since-run"):
        ran = audit(fleet, option, "")
        assert (ran.code, f"{option}: it is empty" in ran.err) == (16, True)


@pytest.mark.slow
def test_growth_is_by_day_and_needs_time_between(fleet: Path) -> None:
    audit(fleet)
    log = next((fleet / "b1").rglob("orders-0/*.log"))
    log.with_name("00000000000000009999.log").write_bytes(bytes(1000))
    run("fleet", "audit", fleet, "--out", fleet.parent / "out", "--driver", "local")
    page = (fleet.parent / "out/report.html").read_text()
    assert "as 2 audits of these paths saw them" in page
    assert "too close together" in page
    assert "too close together for a rate" in run("fleet", "growth", fleet.parent / "out").out
    _, *found, last = told("growth", fleet)
    (first,) = [each for each in found if each["type"] == "log_dir" and each["broker"] == 1]
    assert first["bytes"] - first["bytes_before"] == 1000
    assert first["bytes_per_day"] is first["days_until_full"] is None
    assert last["seconds"] < 3600
    assert run("fleet", "growth", fleet.parent / "out", "--since", "1999").code == 16


def test_a_disk_is_full_at_the_rate_at_which_its_free_space_went() -> None:
    began = datetime(2026, 11, 20, tzinfo=UTC)
    rows = [
        {"path": "/d0", "partitions": 1, "bytes": size, "cluster_id": "c", "broker": 1,
         "disk_free_bytes": free, "disk_total_bytes": 1000} for size, free in ((100, 900), (200, 500))
    ]  # fmt: skip
    ends = [{"run_id": str(n), "started": began + timedelta(days=2 * n)} for n in (0, 1)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(growth.delta, "read", lambda _, name, run_id: pa.Table.from_pylist([rows[int(run_id)]]))
        (only,) = growth.dirs("out", *ends)
        rows[1]["disk_total_bytes"] = 2000  # another disk by now
        (other,) = growth.dirs("out", *ends)
    assert (only.logs.per_day, only.disk_per_day, only.days_until_full) == (50, 200, 2.5)
    assert (other.disk_per_day, other.days_until_full) == (None, None)


@pytest.mark.slow
def test_counts_for_a_monitor(fleet: Path) -> None:
    next((fleet / "b2").rglob("*.timeindex")).unlink()
    prom, rows = fleet.parent / "segmend.prom", fleet.parent / "segmend.json"
    assert audit(fleet, "--alerts", prom).code == 4
    found = dict(line.rsplit(" ", 1) for line in prom.read_text().splitlines() if line[0] != "#")
    assert found['segmend_audit_findings_by_code{code="I13"}'] == "1"
    assert found["segmend_audit_exit_code"] == "4"
    assert (
        f'segmend_log_dir_bytes{{cluster="lAb5pZ9vTWWx4JmKu0o3Ng",broker="1",dir="{fleet}/b1/data"}}' in found
    )
    assert "segmend_audit_new_findings" not in found
    audit(fleet, "--alerts", rows)
    names = {each["name"]: each["value"] for each in json.loads(rows.read_text())}
    assert names["segmend_audit_new_findings"] == 0
    assert audit(fleet, "--alerts", fleet.parent / "x.txt").code == 16


def test_the_next_audit_goes_on_behind_a_torn_commit_of_any_table(fleet: Path) -> None:
    """As a power cut leaves that of an audit which had not ended, be it the one of its own row."""
    assert audit(fleet).code == 0
    out = fleet.parent / "out"
    runs = told("runs", fleet)
    for name in ("runs", "segments"):
        log = out / name / "_delta_log"
        last = max(int(path.stem) for path in log.glob("*.json"))
        (log / f"{last + 1:020}.json").write_bytes(b'{"commitInfo":{"pha')
        if name == "runs":
            assert "the next audit into" in run("fleet", "runs", out).err
        ran = audit(fleet)
        assert ran.code == 0, ran.err
        assert len([*log.glob("*.torn-*")]) == 1
        assert told("runs", fleet)[: len(runs)] == runs
