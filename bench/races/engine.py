"""The kernel's scan, one thread, against a plain sum over the mapped bytes (the physical limit)."""

from __future__ import annotations

import mmap
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bench.data import KIB, log_dir
from bench.measure import Contender, race
from bench.scale import Scale
from bench.table import Target, show
from segmend.kernel.scan import ScanTask, scan_log
from segmend.logdir.disk import FileReader


def scan(files: Sequence[Path]) -> float:
    """Every CRC of the files through bounded reads; seconds."""
    started = time.perf_counter()
    for file in files:
        with FileReader(str(file)) as reader:
            result = scan_log(reader, ScanTask(base_offset=int(file.stem), crc=True))
        assert not result.problems
    return time.perf_counter() - started


def mapped_sum(files: Sequence[Path]) -> float:
    """The sum of all 64-bit words through mmap; seconds."""
    started = time.perf_counter()
    for file in files:
        with open(file, "rb") as handle, mmap.mmap(handle.fileno(), 0, prot=mmap.PROT_READ) as mapped:
            np.frombuffer(mapped, np.uint64, count=len(mapped) // 8).sum()
    return time.perf_counter() - started


def run(scale: Scale) -> None:
    """1 GiB of 1 KiB records."""
    files = log_dir(scale.folder / KIB.folder, KIB, total_bytes=scale.kib_bytes)
    total = sum(file.stat().st_size for file in files) / 1e9
    contenders = [
        Contender("kernel scan, every CRC", function=lambda: scan(files)),
        Contender("mmap and sum", function=lambda: mapped_sum(files)),
    ]
    race(contenders, runs=scale.runs)
    target = Target(against="mmap and sum", at_most=1 / 0.6)
    show("engine, one thread", contenders, size=total, unit="GB", targets=[target])
