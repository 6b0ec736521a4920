"""An audit end to end on the local driver: tables, replicas laid side by side, runs that add up."""

import errno
import json
import re
import shutil
import struct
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.checks.build_partition import PartitionWriter, batch, record
from tests.fleet.build import Edit, plain, three_brokers, write_broker
from tests.fleet.refused import refuse
from tests.golden.shared import golden

from segmend.checks import Level
from segmend.errors import SegmendError, UsageError
from segmend.fleet import delta
from segmend.fleet.audit import AuditOutcome, AuditRequest, audit
from segmend.fleet.driver import LocalDriver
from segmend.fleet.publish import finding_objects, summary, write_summary
from segmend.fleet.schemas import AUDIT_TABLES, STORED, SUMMARY_KEYS
from segmend.fleet.task import Task
from segmend.logdir.log_dir import LOG_DIR_FILES


def run(root: Path, out: Path, *, level: Level = Level.DEEP, processes: int = 1) -> AuditOutcome:
    return audit(AuditRequest(paths=(str(root),), out=str(out), level=level), LocalDriver(processes))


def codes(root: Path, out: Path) -> dict[str, int]:
    return dict(run(root, out).codes)


def test_a_healthy_fleet_is_silent_and_its_tables_are_there(tmp_path: Path) -> None:
    out = tmp_path / "out"
    outcome = run(three_brokers(tmp_path / "fleet"), out, processes=2)
    assert outcome.exit_code == 0
    assert outcome.codes == {}
    for name in AUDIT_TABLES:
        found = delta.read(str(out), name, run_id=outcome.run.run_id)
        assert found.schema == STORED[name]
        assert bool(found.num_rows) == (name != "findings"), name
    row = outcome.row
    assert (row["brokers"], row["log_dirs"], row["partitions"], row["segments"]) == (3, 3, 12, 48)
    assert (row["batches"], row["records"]) == (480, 1440)
    assert {r["status"] for r in delta.read(str(out), "replicas").to_pylist()} == {"in-step"}


def rewrite(epoch: int, value: bytes) -> Edit:
    """Another batch in the place of the 30th, of the same offsets."""

    def edit(writer: PartitionWriter) -> None:
        segment = writer.segments[2]
        position = segment.positions[9]
        size = len(segment.log) - position
        fresh = batch(
            87, [record(i, b"k%d" % (87 + i), value, timestamp_delta=i) for i in range(3)],
            epoch=epoch, base_timestamp=writer.clock - 11_000,
        )  # fmt: skip
        assert len(fresh) == size
        segment.log[position:] = fresh

    return edit


def test_a_replica_that_is_behind(tmp_path: Path) -> None:
    def shorter(writer: PartitionWriter) -> None:
        fresh = plain(writer.topic, writer.partition, batches=35)
        writer.__dict__.update(fresh.__dict__)

    out = tmp_path / "out"
    outcome = run(three_brokers(tmp_path / "fleet", edit={2: shorter}), out)
    assert outcome.codes == {"R01": 1}
    (finding,) = finding_objects(str(out), outcome.run.run_id)
    assert (finding["broker"], finding["severity"], finding["offset"]) == (2, "warning", 105)
    behind = [r for r in delta.read(str(out), "replicas").to_pylist() if r["status"] == "behind"]
    assert [(r["broker"], r["behind"], r["topic"]) for r in behind] == [(2, 15, "orders")]


@pytest.mark.parametrize(
    ("epoch", "value", "difference"), [(0, b"w" * 20, "content"), (1, b"v" * 20, "epoch")]
)
def test_a_replica_that_diverged(tmp_path: Path, epoch: int, value: bytes, difference: str) -> None:
    out = tmp_path / "out"
    root = three_brokers(tmp_path / "fleet", edit={3: rewrite(epoch, value)})
    outcome = run(root, out, level=Level.DEFAULT)
    found = [f for f in finding_objects(str(out), outcome.run.run_id) if f["code"] == "R02"]
    assert [(f["broker"], f["offset"], f["detail"]["difference"]) for f in found] == [(3, 87, difference)]
    assert found[0]["file"] == "orders-0/00000000000000000060.log"
    rows = delta.read(str(out), "replicas").to_pylist()
    assert [r["diverged_at"] for r in rows if r["status"] == "diverged"] == [87]


def test_replicas_may_roll_and_age_as_they_like(tmp_path: Path) -> None:
    """Other segment boundaries, and a head that retention took, are no difference."""

    def other(writer: PartitionWriter) -> None:
        writer.__dict__.update(plain(writer.topic, writer.partition, segment_batches=7).__dict__)
        writer.behead(2)

    assert codes(three_brokers(tmp_path / "fleet", edit={1: other}), tmp_path / "out") == {}


@pytest.mark.slow
def test_compacted_topics_are_compared_above_the_cleaner_only(tmp_path: Path) -> None:
    def compacted(writer: PartitionWriter) -> None:
        rewrite(0, b"w" * 20)(writer)
        writer.compacted = True
        writer.log_start = 0

    root = three_brokers(tmp_path / "fleet", edit={3: compacted})
    file = root / "b3/data/cleaner-offset-checkpoint"
    file.write_text("0\n1\norders 0 90\n")
    assert codes(root, tmp_path / "out") == {}
    file.write_text("0\n1\norders 0 60\n")
    assert codes(root, tmp_path / "out") == {"R02": 1}


def test_a_missing_replica_is_named(tmp_path: Path) -> None:
    root = three_brokers(tmp_path / "fleet")
    write_broker(root, 4, [plain("orders", 0), plain("orders", 1), plain("clicks", 0)], name="data")
    outcome = run(root, tmp_path / "out", level=Level.DEFAULT)
    assert "R03" in outcome.codes
    (finding,) = [f for f in finding_objects(str(tmp_path / "out"), outcome.run.run_id) if f["code"] == "R03"]
    assert (finding["topic"], finding["partition"], finding["broker"]) == ("clicks", 1, 4)


def test_another_topic_id(tmp_path: Path) -> None:
    root = three_brokers(tmp_path / "fleet")
    for partition in (0, 1):
        file = root / f"b2/data/clicks-{partition}/partition.metadata"
        file.write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ")
    assert codes(root, tmp_path / "out") == {"R04": 2}


def test_committed_records_on_no_disk(tmp_path: Path) -> None:
    root = three_brokers(tmp_path / "fleet")
    file = root / "b1/data/replication-offset-checkpoint"
    file.write_text(file.read_text().replace("orders 0 120", "orders 0 500"))
    assert codes(root, tmp_path / "out")["R05"] == 1


def test_replicas_without_a_common_record(tmp_path: Path) -> None:
    def old(writer: PartitionWriter) -> None:
        writer.__dict__.update(plain(writer.topic, writer.partition, batches=8).__dict__)

    def young(writer: PartitionWriter) -> None:
        writer.behead(1)

    found = codes(three_brokers(tmp_path / "fleet", edit={1: young, 3: young, 2: old}), tmp_path / "out")
    assert found == {"R01": 1, "R06": 1}


@pytest.mark.slow
def test_a_second_run_says_what_is_new_and_gone(tmp_path: Path) -> None:
    root, out = three_brokers(tmp_path / "fleet"), tmp_path / "out"
    first = run(root, out)
    assert (first.row["new_findings"], first.row["gone_findings"]) == (None, None)
    (root / "b1/data/meta.properties").rename(root / "meta")
    second = run(root, out)
    assert second.row["new_findings"] > 0
    (root / "meta").rename(root / "b1/data/meta.properties")
    third = run(root, out)
    assert (third.row["new_findings"], third.row["gone_findings"]) == (0, second.row["new_findings"])
    assert delta.read(str(out), "runs").num_rows == 3


def test_startup_level_reads_no_batches_and_says_so(tmp_path: Path) -> None:
    outcome = run(three_brokers(tmp_path / "fleet"), tmp_path / "out", level=Level.STARTUP)
    assert outcome.row["batches"] == 0
    assert "replicas against each other" in outcome.row["skipped"]
    ends = [r["log_end_offset"] for r in delta.read(str(tmp_path / "out"), "partitions").to_pylist()]
    assert set(ends) == {120}


def test_out_may_not_lie_in_a_log_dir(tmp_path: Path) -> None:
    root = three_brokers(tmp_path / "fleet")
    with pytest.raises(UsageError, match="lies in the log dir"):
        run(root, root / "b1/data/out")
    assert not (root / "b1/data/out").exists()


@pytest.mark.parametrize("out", ["b2/data", "b2/data/out", "b2/data/orders-0/x/y"])
@pytest.mark.parametrize("lost", [(), ("meta.properties",), LOG_DIR_FILES], ids=["none", "meta", "all"])
def test_out_may_not_lie_in_a_log_dir_that_is_not_looked_at(
    tmp_path: Path, out: str, lost: Iterable[str]
) -> None:
    """Its broker would not start over the tables; also one that lost its meta.properties, or all but logs."""
    root = three_brokers(tmp_path / "fleet")
    for name in lost:
        (root / "b2/data" / name).unlink(missing_ok=True)
    before = sorted(root.rglob("*"))
    with pytest.raises(UsageError, match=f"lies in the log dir {root}/b2/data"):
        run(root / "b1", root / out)
    assert sorted(root.rglob("*")) == before


def test_out_may_lie_beside_a_partition_that_somebody_copied(tmp_path: Path) -> None:
    root = three_brokers(tmp_path / "fleet")
    (desk := tmp_path / "desk").mkdir()
    shutil.copytree(root / "b2/data/orders-0", desk / "orders-0")
    (desk / "notes").mkdir()
    assert run(root / "b1", desk / "out").row["brokers"] == 1


def test_out_in_a_store_that_nobody_knows_is_no_directory_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    root = three_brokers(tmp_path / "fleet")
    with pytest.raises(UsageError, match="oss:// cannot be read; there are s3, "):
        audit(AuditRequest(paths=(str(root),), out="oss://name/report"), LocalDriver(1))
    assert not (tmp_path / "oss:").exists()


def test_the_summary_file(tmp_path: Path) -> None:
    out = tmp_path / "out"
    outcome = run(three_brokers(tmp_path / "fleet"), out)
    write_summary(outcome, str(out), None)
    stored = json.loads((out / "summary.json").read_text())
    assert set(SUMMARY_KEYS) <= set(stored)
    assert stored == json.loads(json.dumps(summary(outcome, str(out), None)))


def test_progress_counts_up_to_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, added_up = Counter[int](), Task.bytes.fget

    def counted(task: Task) -> int:
        asked[id(task)] += 1
        return int(added_up(task))

    monkeypatch.setattr(Task, "bytes", property(counted))
    seen: list[tuple[int, int, str]] = []
    request = AuditRequest(paths=(str(three_brokers(tmp_path / "fleet")),), out=str(tmp_path / "out"))
    audit(request, LocalDriver(1), lambda *said: seen.append(said))
    assert seen[0][2] == "listing log dirs"
    assert max(done for done, _, _ in seen) == max(total for _, total, _ in seen) > 0
    assert set(asked.values()) == {2}, "once to add up, once by the task: not with each that is done"


@pytest.mark.parametrize("name", ["4.3.1-fleet"])
def test_the_golden_fleet_is_healthy(name: str, tmp_path: Path) -> None:
    outcome = run(golden(name), tmp_path / "out", processes=2)
    assert {code for code in outcome.codes if code != "R01"} == set()
    assert outcome.exit_code == 0


def other_cluster(root: Path) -> Path:
    """The same brokers, of another cluster."""
    for meta in root.rglob("meta.properties"):
        meta.write_text(re.sub("(?m)^cluster.id=.*", "cluster.id=another", meta.read_text()))
    return root


def told(out: Path, table: str, *names: str) -> set[tuple[object, ...]]:
    rows = delta.read(str(out), table).select(names).to_pylist()
    assert len(rows) == len({tuple(row.values()) for row in rows})
    return {tuple(row.values()) for row in rows}


@pytest.mark.slow
def test_clusters_with_the_same_brokers_are_nothing_to_each_other(tmp_path: Path) -> None:
    """What an audit of two clusters says is what audits of each say, whatever one of them lacks."""
    roots = [shutil.copytree(golden("4.3.1-fleet"), tmp_path / name) for name in ("one", "other")]
    other_cluster(roots[1])
    for broker in (1, 3):
        for lost in roots[1].glob(f"b{broker}/d*/orders-3"):
            shutil.rmtree(lost)
    for log in roots[0].glob("b2/d*/orders-2/00000000000000000000.log"):
        data = bytearray(log.read_bytes())
        data[12:16] = struct.pack(">i", 7)  # the leader epoch of the first batch
        log.write_bytes(data)
    outs = [tmp_path / f"out-{name}" for name in ("both", "one", "other")]
    for out, paths in zip(outs, (roots, roots[:1], roots[1:]), strict=True):
        audit(AuditRequest(paths=tuple(map(str, paths)), out=str(out)), LocalDriver(2))
    findings = ("fingerprint", "severity", "dir", "message", "remedy_command")
    where = ("cluster_id", "broker", "topic", "partition")
    replicas = (*where, "replicas", "expected_replicas", "behind", "diverged_at", "status")
    for table, names in (("findings", findings), ("replicas", replicas)):
        both, one, other = (told(out, table, *names) for out in outs)
        assert both == one | other, table
    assert {"R02", "R03"} <= set(delta.read(str(outs[0]), "findings")["code"].to_pylist())


def _fail(task: int) -> int:
    raise OSError(f"no space left for task {task}")


def test_a_task_that_cannot_go_on_is_one_line() -> None:
    with pytest.raises(SegmendError, match="a task failed: no space left"):
        list(LocalDriver(2).run(_fail, [1, 2]))


def test_a_log_dir_that_cannot_be_listed_is_a_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = three_brokers(tmp_path / "fleet")
    refuse(monkeypatch, "b2/data", errno.EACCES)
    outcome = run(root, tmp_path / "out")
    assert outcome.exit_code == 12
    assert outcome.unreadable == (f"{root}/b2/data",)
    found = finding_objects(str(tmp_path / "out"), outcome.run.run_id)
    assert [(f["code"], f["dir"]) for f in found] == [("K14b", f"{root}/b2/data")]


def test_a_partition_that_cannot_be_listed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = three_brokers(tmp_path / "fleet")
    refuse(monkeypatch, "b2/data/orders-0", errno.EIO)
    outcome = run(root, tmp_path / "out")
    assert outcome.exit_code == 4
    assert outcome.codes["K14b"] == 1


def test_out_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    root = three_brokers(tmp_path / "fleet")
    (tmp_path / "file").touch()
    with pytest.raises(SegmendError, match="--out"):
        run(root, tmp_path / "file" / "out")
