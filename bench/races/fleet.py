"""The fleet audit: cold on the bundled fleet, then warm in one session, on Spark and without it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.golden.unpack import unpack

from bench.data import KIB, log_dir, many_segments, replicas
from bench.measure import Contender, race
from bench.peers import segmend
from bench.scale import Scale
from bench.table import show, show_waits
from segmend.checks import Level
from segmend.fleet.audit import AuditRequest, audit
from segmend.fleet.driver import Driver, LocalDriver
from segmend.spark.driver import SparkDriver
from segmend.spark.session import session

FLEET = Path(__file__).parents[2] / "examples" / "fleet" / "fleet.tar.xz"
CACHE = Path.home() / ".cache" / "segmend"


def run(scale: Scale) -> None:
    """Bounds are seconds a person waits; Spark and the plain process pool stand side by side."""
    fleet = scale.folder / "fleet"
    if not fleet.exists():
        unpack(FLEET, fleet)
    with tempfile.TemporaryDirectory() as out:
        cold = [
            (segmend("bundled fleet, Spark, cold", "fleet", "audit", fleet, "--out", f"{out}/spark"), 20.0),
            (
                segmend(
                    "bundled fleet, no Spark", "fleet", "audit", fleet, "--out", f"{out}/l", "--driver=local"
                ),
                20.0,
            ),
        ]
        race([each for each, _ in cold], runs=scale.runs)
        show_waits("fleet audit, process start and report included", cold)
    warm(scale)


def warm(scale: Scale) -> None:
    """In one session, after one audit: every CRC of a big partition's replicas, then many small segments."""
    files = log_dir(scale.folder / KIB.folder, KIB, total_bytes=scale.kib_bytes)
    tiny = many_segments(scale.folder / "tiny", segments=scale.tiny_segments)
    drivers = {"Spark": SparkDriver(session("local[*]", cache=CACHE)), "no Spark": LocalDriver()}
    fleet = replicas(scale.folder / "replicas", files[0].parent.parent)
    total = 3 * sum(file.stat().st_size for file in files) / 1e9
    contenders = [
        Contender(f"every CRC, {name}", function=timed(driver, fleet, Level.DEEP))
        for name, driver in drivers.items()
    ]
    race(contenders, runs=scale.runs)
    show("fleet audit, warm (target: 0.8 GB/s on Spark)", contenders, size=total, unit="GB")
    small = [
        (
            Contender(
                f"{scale.tiny_segments:,} segments, {name}", function=timed(driver, tiny, Level.DEFAULT)
            ),
            3.0,
        )
        for name, driver in drivers.items()
    ]
    race([each for each, _ in small], runs=scale.runs)
    show_waits("fleet audit of tiny segments, warm", small)


def timed(driver: Driver, path: Path, level: Level) -> Callable[[], float]:
    """Seconds of one audit into a new directory, tables committed, no report."""

    def once() -> float:
        with tempfile.TemporaryDirectory() as out:
            started = time.perf_counter()
            audit(AuditRequest(paths=(str(path),), out=out, level=level), driver)
            return time.perf_counter() - started

    return once
