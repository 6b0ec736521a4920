"""The audit on a cluster of plain workers, some of which fail: the tables of a run without Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conftest import GOLDEN
from tests.golden.unpack import unpack
from tests.spark.standalone import SECONDS, Cluster, bare_python, cluster, wait_for

from segmend.fleet import delta
from segmend.fleet.audit import AuditRequest, audit
from segmend.fleet.driver import LocalDriver
from segmend.fleet.schemas import AUDIT_TABLES

# Within 60 s each on a quiet machine; the limit is for one that starts many other things.
pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(500)]

BUNDLED = GOLDEN.parent.parent / "examples" / "fleet" / "fleet.tar.xz"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fleet, its audit without Spark, a bare Python, and a cache for the archive that workers get."""
    home = tmp_path_factory.mktemp("cluster")
    fleet = unpack(BUNDLED, home / "fleet")
    audit(AuditRequest(paths=(str(fleet),), out=str(home / "local")), LocalDriver(1))
    bare_python(home / "bare")
    return home


def rows(out: Path, name: str) -> list[str]:
    return sorted(map(repr, delta.read(str(out), name).drop_columns("run_id").to_pylist()))


def audited(home: Path, out: Path, middle: Callable[[Cluster], None], **settings: str) -> str:
    """Audit while the second worker sits in its first task; what the command said on stderr."""
    out.mkdir()
    with (
        pytest.MonkeyPatch.context() as patch,
        cluster(home / "bare/bin/python", out, hold=out) as running,
    ):
        patch.setenv("XDG_CACHE_HOME", str(home / "cache"))
        command = ["fleet", "audit", str(home / "fleet"), "--out", str(out / "report"), "--no-report"]
        with running.start(*command, **settings) as done:
            try:
                wait_for("a task of the second worker", lambda: (out / "held").exists() or done.poll())
                middle(running)
                printed, told = done.communicate(timeout=SECONDS)
            finally:
                done.kill()
    assert done.returncode == 4, told
    assert "on spark" in printed
    for name in AUDIT_TABLES:
        # The time of a run and the free space of a disk are never the same twice.
        if name not in ("runs", "log_dirs"):
            assert rows(out / "report", name) == rows(home / "local", name), name
    return told


def test_a_worker_is_killed_in_the_middle(home: Path, tmp_path: Path) -> None:
    """Its task is lost, and done again by the other one."""
    assert "Lost executor" in audited(home, tmp_path / "out", Cluster.kill_second)


def test_a_worker_that_hangs_is_overtaken(home: Path, tmp_path: Path) -> None:
    """Speculative execution: a second copy of its task is started, and counts once."""
    eager = {"quantile": "0.1", "multiplier": "1.1", "minTaskRuntime": "1s", "interval": "200ms"}
    settings = {f"spark.speculation.{name}": value for name, value in eager.items()}
    told = audited(home, tmp_path / "out", lambda _: None, **{"spark.speculation": "true", **settings})
    assert "Lost executor" not in told
