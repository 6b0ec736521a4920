"""`segmend diff` of three replicas against `segmend check --deep` of the same files; processes whole."""

from __future__ import annotations

from bench.data import KIB, SMALL_LZ4, log_dir
from bench.measure import race
from bench.peers import segmend
from bench.scale import Scale
from bench.table import Target, show

DEEP = "segmend check --deep"


def run(scale: Scale) -> None:
    """Three times 1 GiB of 1 KiB records, then of small lz4 records."""
    for shape, size in ((KIB, scale.kib_bytes), (SMALL_LZ4, scale.small_bytes)):
        folders = [scale.folder / f"{shape.folder}-of-broker-{number}" for number in (1, 2, 3)]
        files = [file for folder in folders for file in log_dir(folder, shape, total_bytes=size)]
        contenders = [
            segmend("segmend diff", "diff", *folders),
            segmend(DEEP, "check", "--deep", *folders),
        ]
        race(contenders, runs=scale.runs)
        total = sum(file.stat().st_size for file in files) / 1e9
        targets = [Target(against=DEEP, at_most=1.3)]
        show(f"diff: {shape.name}, {total:.2f} GB", contenders, size=total, unit="GB", targets=targets)
