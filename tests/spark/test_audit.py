"""The audit on Spark: the same tables and findings as on the local driver."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from tests.cli.run import python
from tests.conftest import GOLDEN
from tests.fleet.build import plain, three_brokers, write_broker
from tests.golden.unpack import unpack
from tests.spark.standalone import light

from segmend.checks import Level
from segmend.errors import SegmendError
from segmend.fleet import delta
from segmend.fleet.audit import AuditOutcome, AuditRequest, audit
from segmend.fleet.driver import LocalDriver
from segmend.fleet.schemas import AUDIT_TABLES
from segmend.logdir.file_system import Unreadable
from segmend.spark.driver import FEW_ROWS_BYTES, SparkDriver

pytestmark = pytest.mark.spark

BUNDLED = GOLDEN.parent.parent / "examples" / "fleet" / "fleet.tar.xz"


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack(BUNDLED, tmp_path_factory.mktemp("bundled"))


@pytest.fixture(scope="module")
def local(fleet: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, AuditOutcome]:
    """Its deep audit without Spark."""
    out = tmp_path_factory.mktemp("local")
    return out, audit(AuditRequest(paths=(str(fleet),), out=str(out), level=Level.DEEP), LocalDriver(1))


def rows(out: Path, outcome: AuditOutcome, name: str) -> list[str]:
    found = delta.read(str(out), name, run_id=outcome.run.run_id).drop_columns("run_id").to_pylist()
    return sorted(map(repr, found))


@pytest.mark.parametrize("few", [FEW_ROWS_BYTES, 0], ids=["in the driver", "by executors"])
def test_spark_and_the_local_driver_write_the_same_tables(
    spark: SparkSession,
    fleet: Path,
    local: tuple[Path, AuditOutcome],
    tmp_path: Path,
    few: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("segmend.spark.driver.FEW_ROWS_BYTES", few)
    request = AuditRequest(paths=(str(fleet),), out=str(tmp_path), level=Level.DEEP)
    (ours, without), on_spark = local, audit(request, SparkDriver(spark))
    assert on_spark.codes == without.codes
    assert {"L05", "R01", "R02", "R03"} <= set(on_spark.codes)
    for name in AUDIT_TABLES:
        # The time of a run and the free space of a disk are never the same twice.
        if name not in ("runs", "log_dirs"):
            assert rows(tmp_path, on_spark, name) == rows(ours, without, name), name
    assert on_spark.exit_code == 4


def test_any_spark_reads_the_tables(spark: SparkSession, tmp_path: Path) -> None:
    from deltalake import DeltaTable

    audit(
        AuditRequest(paths=(str(three_brokers(tmp_path / "f")),), out=str(tmp_path / "o")), SparkDriver(spark)
    )
    frame = spark.read.parquet(*DeltaTable(tmp_path / "o/segments").file_uris())
    assert frame.groupBy("broker").count().count() == 3
    assert frame.selectExpr("sum(records)").first()[0] == 1440


def test_audits_in_threads_of_one_session_leave_each_other_and_its_views_alone(
    spark: SparkSession, tmp_path: Path
) -> None:
    for name in ("partitions", "replicas"):
        spark.range(7).createOrReplaceTempView(name)
    codec = spark.conf.get("spark.sql.codegen.factoryMode")

    def audited(number: int) -> dict[str, int]:
        fleet, out = tmp_path / f"f{number}", tmp_path / f"o[{number}]{{*}}"
        for broker in range(number + 1):
            write_broker(fleet / f"b{broker}", broker, [plain("t", 0)])
        audit(AuditRequest(paths=(str(fleet),), out=str(out)), SparkDriver(spark))
        return {row["topic"]: row["replicas"] for row in delta.read(str(out), "replicas").to_pylist()}

    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(audited, range(3))) == [{"t": 1}, {"t": 2}, {"t": 3}]
    assert spark.table("partitions").count() == spark.table("replicas").count() == 7
    assert spark.conf.get("spark.sql.codegen.factoryMode") == codec


def test_progress_and_the_session_s_settings_survive(spark: SparkSession, tmp_path: Path) -> None:
    before = spark.conf.get("spark.sql.codegen.wholeStage")
    write_broker(tmp_path / "f", 1, [plain("t", 0)])
    seen: list[str] = []
    request = AuditRequest(paths=(str(tmp_path / "f"),), out=str(tmp_path / "o"))
    audit(request, SparkDriver(spark), lambda done, total, what: seen.append(what))
    assert seen[0] == "listing log dirs"
    assert seen[-1] == "comparing replicas"
    assert spark.conf.get("spark.sql.codegen.wholeStage") == before


def _fail(task: int) -> int:
    raise OSError(f"no space left for task {task}")


def test_a_task_that_cannot_go_on_is_one_line(spark: SparkSession) -> None:
    with pytest.raises(SegmendError, match=r"a Spark task failed: .*no space left") as error:
        list(SparkDriver(spark).run(_fail, [1]))
    assert "\n" not in str(error.value)


def _refuse(task: int) -> int:
    raise Unreadable(f"s3://b/{task}", "permission denied", 13)


TOLD = """
import sys
from py4j.protocol import Py4JJavaError
from pyspark import TaskContext
from pyspark.errors import PySparkException
from tests.spark.standalone import light
from tests.spark.test_audit import _fail, _refuse
from segmend.errors import SegmendError
from segmend.spark.driver import SparkDriver
from segmend.spark.session import session
spark = session("local[2,3]", java_options=light().split())
for refusing in _refuse, _fail:
    try:
        list(SparkDriver(spark).run(refusing, [1, 2]))
    except SegmendError as error:
        print(error)
def of_users(fault):
    print("---", file=sys.stderr, flush=True)
    return spark.sparkContext.parallelize([1], 1).map(fault).collect()
def lost(task):
    if TaskContext.get().attemptNumber() < 2:
        raise ValueError("a fault of the user's")
    return task
print(of_users(lost))
def fault(task):
    raise ValueError("another one")
try:
    of_users(fault)
except (PySparkException, Py4JJavaError):
    print("failed")
"""


@pytest.mark.slow
def test_of_what_stops_a_task_nobody_shows_the_stack_but_of_a_users_own_spark_says_it() -> None:
    ran = python("-c", TOLD)
    refused, stopped, *users = ran.stdout.splitlines()
    assert refused == "s3://b/1: permission denied", "as the local driver says it"
    assert "no space left for task" in stopped
    assert users == ["[1]", "failed"]
    ours, lost, failed = ran.stderr.split("---\n")
    assert ours == ""
    assert lost.count("ERROR Executor: Exception in task") == 2
    assert "WARN TaskSetManager: Lost task 0.0" in lost
    assert "ERROR Executor: Exception in task" in failed
    assert "ValueError: another one" in failed


def _die(task: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return task


def test_a_task_that_dies_every_time_is_one_line(spark: SparkSession) -> None:
    """The last of its retries has come to nothing; on one machine there is but one try."""
    with pytest.raises(SegmendError, match=r"a Spark task failed: Job aborted due to stage failure") as error:
        list(SparkDriver(spark).run(_die, [1]))
    assert "\n" not in str(error.value)


@pytest.mark.slow
def test_the_command_starts_a_cluster_of_its_own(tmp_path: Path) -> None:
    """An executor with its own JVM: nothing of the driver's process is there. `test_cluster` has two."""
    command = [
        sys.executable, "-m", "segmend", "fleet", "audit", str(three_brokers(tmp_path / "f")),
        "--out", str(tmp_path / "out"), "--master", "local-cluster[1,1,1024]", "--no-report",
    ]  # fmt: skip
    options = f'--conf "spark.executor.extraJavaOptions={light()}" pyspark-shell'
    environ = os.environ | {"PYSPARK_SUBMIT_ARGS": options}
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False, env=environ)
    assert done.returncode == 0, done.stderr
    assert "on spark" in done.stdout
    assert "ERROR" not in done.stderr, "the cluster was not told that we have gone"
