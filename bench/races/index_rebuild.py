"""All indexes of a partition made anew, against a broker's own recovery of it.

A broker that finds no indexes after an unclean stop reads every batch, verifies its checksum, and writes
both indexes of each segment: "Completed load of Log ... in X ms". `plan repair` and `apply` do that, and
besides check the whole dir, forecast a start before and after, hash, journal and sync.

Both sides twice: the work alone (a broker's own figure has neither the start of its JVM nor its
configuration in it, ours not the start of Python), and whole, as a person waits for it.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tests.copies import copy_tree
from tests.lab.broker import Broker
from tests.lab.releases import release
from tests.lab.zookeeper import ZooKeeper

from bench.data import KIB, MARKER, log_dir
from bench.measure import Contender, race
from bench.peers import KAFKA
from bench.scale import Scale
from bench.table import Target, show

OLD = "1.1.0"
JVM = (
    "-Xms1G", "-Xmx1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent",
)  # fmt: skip
"""What `kafka-server-start` gives to it; where nothing is timed, a small one does."""
LOADED = r"(bench-0.*Completed load of|Completed load of .*bench-0).* in (\d+) ?ms"


def run(scale: Scale) -> None:
    """1 GiB of 1 KiB records, four segments; the broker has one recovery thread for the dir."""
    folder = scale.folder / f"{KIB.folder}-repaired"
    files = log_dir(folder, KIB, total_bytes=scale.kib_bytes)
    jvm = JVM if scale.live else None
    new, old = (Recovery(name, folder, scale.folder / f"broker-{name}", jvm) for name in (KAFKA, OLD))
    alone = Contender("segmend plan repair + apply, the work alone", function=lambda: worked(folder))
    both = Contender("segmend plan repair, segmend apply", function=lambda: repaired(folder))
    work = [
        alone,
        Contender("its pass over the logs, one thread", function=lambda: cooked(folder)),
        Contender(new.name, function=new.own),
        Contender(old.name, function=old.own),
    ]
    waits = [
        both,
        Contender("segmend plan repair", function=lambda: repaired(folder, applied=False)),
        *(Contender(f"{each.name}, from its start on", function=each.whole) for each in (new, old)),
    ]
    race([*work, *waits], runs=scale.runs)
    total = sum(file.stat().st_size for file in files) / 1e9
    title = f"all indexes of one partition made anew: {total:.2f} GB"
    for name, first, rest in (
        ("the work alone", alone, work[1:]), ("as a person waits", both, [*waits[1:], *work[2:]]),
    ):  # fmt: skip
        targets = [Target(against=each.name, at_most=1 / 2) for each in rest if "Kafka" in each.name]
        show(f"{title}, {name}", [first, *rest], size=total, unit="GB", targets=targets)


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


START = """
import sys, time
from segmend import api, checks
from segmend.logdir.release import NEWEST
from segmend.logdir.log_dir import LogDir
from segmend.surgery.execute import apply
from segmend.surgery import ops, plan, recipes, steps
checks.all_checks(), [ops.operation(each) for each in ops.names()], steps.kinds()
[recipes.reads_one_log(name) for name in recipes.names()]
started = time.perf_counter()
"""

WORK = """
made = api.plan("repair", LogDir.open(sys.argv[1]))
apply.apply(plan.Plan.parse(made.render(), "plan.json"), sys.argv[2])
print(time.perf_counter() - started)
"""

PASS = """
log_dir = LogDir.open(sys.argv[1])
for base in log_dir.partition("bench-0").base_offsets:
    for recipe in ("offset-index", "time-index"):
        recipes.build(recipe, log_dir, "bench-0", {"base_offset": base, "interval": 4096}, NEWEST)
print(time.perf_counter() - started)
"""


def worked(folder: Path) -> float:
    """Seconds of plan and apply in a process that has everything imported."""
    without_indexes(folder)
    state = folder.with_name(f"{folder.name}.state")
    shutil.rmtree(state, ignore_errors=True)
    state.mkdir()
    return timed(START + WORK, folder, state)


def cooked(folder: Path) -> float:
    """Seconds that the recipes take for all indexes, one after the other."""
    without_indexes(folder)
    return timed(START + PASS, folder)


def timed(script: str, *arguments: Path) -> float:
    """The seconds that a script prints."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"segmend failed: {done.stderr[-400:]}")
    return float(done.stdout)


class Recovery:
    """Starts of a broker of one release over a copy without clean marker, recovery points and indexes."""

    def __init__(self, version: str, folder: Path, root: Path, jvm: Sequence[str] | None) -> None:
        self.name = f"Kafka {version}, recovery of the partition"
        self._release = release(version)
        self._folder = folder
        self._root = root
        self._jvm = jvm
        self._whole = 0.0

    def own(self) -> float:
        """Seconds, by the broker's own account; starts it."""
        seconds, self._whole = self._start()
        return seconds

    def whole(self) -> float:
        """Seconds from the start of its JVM on, of the start that `own` made."""
        return self._whole

    def _start(self) -> tuple[float, float]:
        copy_tree(self._folder, self._root / "d0")
        without_indexes(self._root / "d0")
        for name in (MARKER, "recovery-point-offset-checkpoint", "meta.properties"):
            (self._root / "d0" / name).unlink(missing_ok=True)
        keeper = (
            ZooKeeper(self._release, self._root / "zookeeper") if self._release.mode == "zookeeper" else None
        )
        if keeper is not None:
            shutil.rmtree(self._root / "zookeeper" / "data", ignore_errors=True)
            keeper.start()
        broker = Broker(self._release, self._root, log_dirs=1, zookeeper=keeper and keeper.address)
        broker.jvm = self._jvm
        try:
            broker.configure()
            started = time.perf_counter()
            broker.launch()
            line = broker.wait_for(LOADED, 90)
            whole = time.perf_counter() - started
        finally:
            broker.kill()
            if keeper is not None:
                keeper.kill()
        found = re.search(LOADED, line)
        assert found is not None
        return int(found[2]) / 1000, whole
