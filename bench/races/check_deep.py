"""`segmend check --deep`, every CRC and every record, against cat and kafka-dump-log; processes whole."""

from __future__ import annotations

from bench.data import KIB, SMALL_LZ4, log_dir
from bench.measure import race
from bench.peers import DEEP, DEFAULT, cat, dump_log, segmend
from bench.scale import Scale
from bench.table import Target, show


def run(scale: Scale) -> None:
    """1 GiB of 1 KiB records, then 4 million lz4 records."""
    sets = [
        (KIB, scale.kib_bytes, [Target(against=DEFAULT, at_most=1 / 3), Target(against=DEEP, at_most=1 / 6)]),
        (SMALL_LZ4, scale.small_bytes, [Target(against=DEEP, at_most=1 / 8)]),
    ]
    for shape, size, targets in sets:
        folder = scale.folder / shape.folder
        files = log_dir(folder, shape, total_bytes=size)
        contenders = [
            segmend("segmend check --deep", "check", "--deep", folder),
            segmend("segmend check", "check", folder),
            cat(files),
            dump_log(DEFAULT, files),
            dump_log(DEEP, files),
        ]
        race(contenders, runs=scale.runs)
        total = sum(file.stat().st_size for file in files) / 1e9
        show(f"check: {shape.name}, {total:.2f} GB", contenders, size=total, unit="GB", targets=targets)
