"""All indexes of a partition made anew, against a broker's own recovery of it.

The indexes alone are the same work as the broker's: every batch read, every checksum, both indexes.
`plan repair` and `apply` besides check the whole dir, forecast a start before and after, hash,
journal and sync.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from tests.golden.judge import copy_tree
from tests.lab.broker import Broker
from tests.lab.releases import release

from bench.data import KIB, MARKER, log_dir
from bench.measure import Contender, race
from bench.peers import KAFKA
from bench.scale import Scale
from bench.table import Target, show

BROKER = f"Kafka {KAFKA}, recovery of the partition"
LOADED = r"Completed load of .*bench-0.* in \d+ ?ms"


def run(scale: Scale) -> None:
    """1 GiB of 1 KiB records, four segments; the broker's seconds are its own, without its start."""
    folder = scale.folder / f"{KIB.folder}-repaired"
    files = log_dir(folder, KIB, total_bytes=scale.kib_bytes)
    contenders = [
        Contender("segmend, the indexes alone", function=lambda: cooked(folder)),
        Contender("segmend plan repair, apply", function=lambda: repaired(folder)),
        Contender("segmend plan repair", function=lambda: repaired(folder, applied=False)),
        Contender(BROKER, function=recovery(folder, scale.folder / "broker")),
    ]
    race(contenders, runs=scale.runs)
    total = sum(file.stat().st_size for file in files) / 1e9
    show(
        f"all indexes of one partition made anew: {total:.2f} GB", contenders, size=total, unit="GB",
        targets=[Target(against=BROKER, at_most=1 / 5)],
    )  # fmt: skip


def without_indexes(folder: Path) -> None:
    """The partition as after a lost directory of indexes."""
    for path in (folder / "bench-0").glob("*index"):
        path.unlink()


def repaired(folder: Path, *, applied: bool = True) -> float:
    """Seconds of both commands, processes whole."""
    without_indexes(folder)
    state = folder.with_name(f"{folder.name}.state")
    shutil.rmtree(state, ignore_errors=True)
    state.mkdir()
    plan = state / "plan.json"
    commands = [["plan", "repair", str(folder), "-o", str(plan)]]
    if applied:
        commands.append(["apply", str(plan), "--yes", "--state-dir", str(state)])
    started = time.perf_counter()
    for command in commands:
        done = subprocess.run([sys.executable, "-m", "segmend", *command], capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"segmend {command[0]} failed: {done.stderr[-400:]}")
    return time.perf_counter() - started


ALONE = """
import sys, time
from segmend.logdir.release import NEWEST
from segmend.logdir.tree import LogDir
from segmend.surgery import recipes
started = time.perf_counter()
log_dir = LogDir.open(sys.argv[1])
for base in log_dir.partition("bench-0").base_offsets:
    for recipe in ("offset-index", "time-index"):
        recipes.build(recipe, log_dir, "bench-0", {"base_offset": base, "interval": 4096}, NEWEST)
print(time.perf_counter() - started)
"""


def cooked(folder: Path) -> float:
    """Seconds that the recipes take for all indexes, as the broker's are without its start."""
    without_indexes(folder)
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(folder)], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def recovery(folder: Path, root: Path) -> Callable[[], float]:
    """A start of a broker over a copy without clean marker, recovery points and indexes."""

    def seconds() -> float:
        copy_tree(folder, root / "d0")
        without_indexes(root / "d0")
        for name in (MARKER, "recovery-point-offset-checkpoint", "meta.properties"):
            (root / "d0" / name).unlink(missing_ok=True)
        broker = Broker(release(KAFKA), root, log_dirs=1)
        try:
            broker.configure()
            broker.launch()
            line = broker.wait_for(LOADED, 300)
        finally:
            broker.kill()
        found = re.search(r"in (\d+) ?ms", line)
        assert found is not None
        return int(found[1]) / 1000

    return seconds
