"""The audit on a cluster of plain workers, some of which fail: the tables of a run without Spark."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import GOLDEN
from tests.fleet.bucket import s3_server
from tests.fleet.written import table_rows
from tests.golden.unpack import unpack
from tests.spark.standalone import SECONDS, Cluster, bare_python, cluster
from tests.spark.test_left_out import READ, TOLD, damaged_fleet, told_of
from tests.waiting import until

from segmend.cli.commands.fleet.caching import cache_folder
from segmend.fleet.audit import AuditRequest, audit
from segmend.fleet.driver import LocalDriver
from segmend.fleet.schemas import AUDIT_TABLES

# Within 60 s together on a quiet machine; the limit is for one that starts many other things.
pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("cluster"),
]

BUNDLED = GOLDEN.parent.parent / "examples" / "fleet" / "fleet.tar.xz"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fleet, its audit without Spark, and a bare Python."""
    home = tmp_path_factory.mktemp("cluster")
    fleet = unpack(BUNDLED, home / "fleet")
    audit(AuditRequest(paths=(str(fleet),), out=str(home / "local")), LocalDriver(1))
    bare_python(home / "bare")
    return home


@pytest.fixture(scope="module")
def running(home: Path) -> Iterator[Cluster]:
    """Its workers know of an object store."""
    with s3_server(), cluster(home / "bare/bin/python", home) as running:
        yield running


def next_audit(running: Cluster, done: subprocess.Popen[str], out: str) -> None:
    """Have it begin, and wait until the second worker sits in a task."""
    assert done.stdin is not None
    assert done.stdout is not None
    told = done.stdout.readline()
    assert told == f"next {out}\n", done.communicate()[1]
    (running.hold / "armed").mkdir()
    done.stdin.write("\n")
    done.stdin.flush()
    held = running.hold / "held"
    until("a task of the second worker", lambda: held.exists() or done.poll() is not None, SECONDS)
    held.rmdir()


def test_what_an_executor_met_goes_with_it_and_that_is_told(running: Cluster, home: Path) -> None:
    """The rows of its tasks were counted, and nobody was told that there should be more."""
    hurt, cache = str(damaged_fleet(home / "hurt before")), str(cache_folder() or home / "cache")
    with running.start("tests.spark.damaged_read", running.url, cache, hurt, str(home)) as done:
        printed, told = done.communicate(timeout=SECONDS)
    assert (done.returncode, printed) == (0, "234\n"), told
    assert " lost since the read began, and with it what was met there" in told


def test_a_worker_hangs_and_is_killed_then(running: Cluster, home: Path) -> None:
    """Damage that tasks met elsewhere is told here. Speculative execution: a second copy of a task that hangs
    is started, and counts once. The next one is lost with its worker, and done again by the other; OUT is a
    directory first, and a bucket then. That no worker has room for an executor is a line."""
    outs = (str(home / "report"), "s3://snap/report")
    eager = {"quantile": "0.1", "multiplier": "1.1", "minTaskRuntime": "1s", "interval": "200ms"}
    settings = {f"spark.speculation.{name}": value for name, value in eager.items()} | {
        "spark.speculation": "true",
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    }
    hurt = str(damaged_fleet(home / "hurt"))
    program, folders = (
        "tests.spark.cluster_audits",
        (str(cache_folder() or home / "cache"), hurt, str(home / "fleet")),
    )
    with running.start(program, running.url, *folders, *outs, **settings) as done:
        try:
            assert done.stdout is not None
            told = done.stdout.readline()
            assert told == READ, done.communicate()[1]
            next_audit(running, done, outs[0])
            next_audit(running, done, outs[1])
            running.kill_second()
            printed, told = done.communicate(timeout=SECONDS)
        finally:
            done.kill()
    assert (done.returncode, printed) == (0, "done\n8\n"), told
    assert "Lost executor" in told
    assert told_of(told) == [TOLD, TOLD]
    for out in outs:
        for name in AUDIT_TABLES:
            # The time of a run and the free space of a disk are never the same twice.
            if name not in ("runs", "log_dirs"):
                assert table_rows(out, name) == table_rows(str(home / "local"), name), name
    last = told.splitlines()[-1]
    assert last.startswith(f"segmend: no worker of {running.url} has started an executor within 2 s: "), told
    assert "needs 3g (spark.executor.memory)" in last
    assert not (home / "report-none/runs").exists()
