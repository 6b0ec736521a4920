"""`segmend rescue` of three replicas into a log dir, against `cp --sparse` of one and a CRC scan of each."""

from __future__ import annotations

import shutil
import sys
from functools import partial

from bench.data import KIB, log_dir
from bench.measure import Contender, race
from bench.peers import segmend
from bench.scale import Scale
from bench.table import Target, show

COPY = "cp --sparse of one, CRC scan of each"
SYNCED = "the same, synced as a rescue is"


def run(scale: Scale) -> None:
    """Three times 1 GiB of 1 KiB records; processes whole, OUT new each time."""
    folders = [scale.folder / f"{KIB.folder}-of-broker-{number}" for number in (1, 2, 3)]
    files = [file for folder in folders for file in log_dir(folder, KIB, total_bytes=scale.kib_bytes)]
    out = scale.folder / "rescued"
    scan = f"{sys.executable} -m bench.crc_scan {' '.join(map(str, folders))}"
    copy = f"cp -r --sparse=always {folders[0]} {out}"
    contenders = [
        segmend("segmend rescue --as log-dir", "rescue", *folders, "--out", out),
        Contender(COPY, ["sh", "-c", f"{copy} && exec {scan}"]),
        Contender(SYNCED, ["sh", "-c", f"{copy} && sync -f {out} && exec {scan}"]),
    ]
    for each in contenders:
        each.before = partial(shutil.rmtree, out, ignore_errors=True)
    race(contenders, runs=scale.runs)
    total = sum(file.stat().st_size for file in files) / 1e9
    # A rate of at least 70 % is a time of at most 1 / 0.7.
    targets = [Target(against=COPY, at_most=1 / 0.7)]
    show(f"rescue: {KIB.name}, {total:.2f} GB", contenders, size=total, unit="GB", targets=targets)
    shutil.rmtree(out, ignore_errors=True)
