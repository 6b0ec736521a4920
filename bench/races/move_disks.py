"""A partition moved to a log dir on another file system, against `cp --sparse=always` of its directory.

`segmend apply` copies, reads back what it wrote, syncs, renames, and then removes the old files. The same
with other tools is `cp`, a `sync` of the files and `rm`; beside it stand its parts. The other file system
is /dev/shm where that is one; else a rename across is refused by hand, as between two.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bench.data import KIB, log_dir
from bench.measure import Contender, race
from bench.scale import Scale
from bench.table import Target, show

MEMORY = Path("/dev/shm")
SAFE = "cp --sparse=always -a, sync of the files, rm -r of the old ones"
TWO_DISKS = """
import errno, os, sys
from segmend.cli.main import main
from segmend.surgery.writing.effects import Effects
rename, disks = Effects.rename, sys.argv[1:3]
def apart(self, old, new):
    if [old.startswith(each) for each in disks] != [new.startswith(each) for each in disks]:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), old)
    rename(self, old, new)
Effects.rename = apart
sys.exit(main(sys.argv[3:]))
"""


def run(scale: Scale) -> None:
    """1 GiB of 1 KiB records in four segments, in both directions."""
    data = scale.folder / KIB.folder
    files = log_dir(data, KIB, total_bytes=scale.kib_bytes)
    total = sum(file.stat().st_size for file in files) / 1e9
    here = Path(tempfile.mkdtemp(prefix="move-", dir=scale.folder))
    there = Path(tempfile.mkdtemp(prefix="move-", dir=MEMORY if _is_another(here, total) else scale.folder))
    real = here.stat().st_dev != there.stat().st_dev
    if not real:
        print("\nno second file system with room here: a rename between the two dirs is refused by hand")
    try:
        for name, source, target in (("to", here, there), ("from", there, here)):
            move = Move(
                data=data, source=source / "d0", target=target / "d1", state=here / "state", real=real
            )
            contenders = [
                Contender("segmend apply", function=partial(move.by_segmend, planned=True)),
                Contender("segmend plan move, segmend apply", function=move.by_segmend),
                Contender(SAFE, function=move.by_cp),
                Contender(
                    "cp --sparse=always -a, sync of the files", function=partial(move.by_cp, removed=False)
                ),
                Contender("cp --sparse=always -a", function=partial(move.by_cp, removed=False, synced=False)),
            ]
            race(contenders, runs=scale.runs)
            title = f"a partition moved {name} {'/dev/shm' if real else 'the other dir'}: {total:.2f} GB"
            show(title, contenders, size=total, unit="GB", targets=[Target(against=SAFE, at_most=1 / 0.9)])
    finally:
        shutil.rmtree(here)
        shutil.rmtree(there)


def _is_another(here: Path, gigabytes: float) -> bool:
    """Whether /dev/shm is a file system of its own, with room for the partition twice."""
    if not (MEMORY.is_dir() and os.access(MEMORY, os.W_OK)) or MEMORY.stat().st_dev == here.stat().st_dev:
        return False
    return shutil.disk_usage(MEMORY).free > 2.5e9 * gigabytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """`data` is the log dir as it was made; `source` becomes a copy of it, `target` an empty one."""

    data: Path
    source: Path
    target: Path
    state: Path
    real: bool

    def prepare(self) -> None:
        """Both log dirs as before, everything written back, nothing that was removed still being freed."""
        for path in (self.source, self.target, self.state):
            shutil.rmtree(path, ignore_errors=True)
            path.mkdir()
        subprocess.run(["cp", "-a", f"{self.data}/.", self.source], check=True)
        for path in self.data.iterdir():
            if path.is_file():
                shutil.copy2(path, self.target)
        for path in self.target.glob("*-checkpoint"):
            path.write_text("0\n0\n")
        identity = self.target / "meta.properties"
        identity.write_text(identity.read_text().replace("=JKf3", "=JKf9"))
        subprocess.run(["sync", "-f", self.source, self.target], check=True)

    def by_segmend(self, *, planned: bool = False) -> float:
        """Seconds of both commands, processes whole; of `apply` alone if it is `planned` before."""
        self.prepare()
        plan = self.state / "plan.json"
        begun = time.perf_counter()
        self._segmend(
            "plan",
            "move",
            self.source,
            self.target,
            "--partition",
            "bench-0",
            "--to",
            self.target,
            "-o",
            plan,
        )
        begun = time.perf_counter() if planned else begun
        self._segmend("apply", plan, "--yes", "--state-dir", self.state)
        seconds = time.perf_counter() - begun
        assert not (self.source / "bench-0").exists()
        assert len(json.loads(plan.read_text())["steps"]) == 5
        return seconds

    def _segmend(self, *arguments: str | Path) -> None:
        door = ["-m", "segmend"] if self.real else ["-c", TWO_DISKS, str(self.source), str(self.target)]
        command = [sys.executable, *door, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode not in (0, 1):
            raise RuntimeError(f"segmend {arguments[0]} failed: {done.stderr[-400:]}")

    def by_cp(self, *, synced: bool = True, removed: bool = True) -> float:
        """Seconds of the copy, of its way to the disk, and of the end of the old one."""
        self.prepare()
        begun = time.perf_counter()
        subprocess.run(["cp", "--sparse=always", "-a", self.source / "bench-0", self.target], check=True)
        if synced:
            subprocess.run(["sync", *(self.target / "bench-0").iterdir()], check=True)
        if removed:
            subprocess.run(["rm", "-r", self.source / "bench-0"], check=True)
        return time.perf_counter() - begun
