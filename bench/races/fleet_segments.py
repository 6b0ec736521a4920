"""The fleet audit from twelve thousand to a million segments: CPU a segment, and the driver's memory."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from deltalake import DeltaTable

from bench.alone import Cost, alone
from bench.data import many_brokers
from bench.scale import Scale
from segmend.cli.main import main

DRIVER_MIB = 512
"""Goal: the driver of a million segments takes no more."""


def run(scale: Scale) -> None:
    """One audit of each size, start and report included; CPU depends on what runs beside it."""
    print("\n## fleet audit by size, no Spark\n")
    print("| brokers | segments | wall s | CPU s | CPU us a segment | of it workers | driver MiB | load |")
    print("|--:|--:|--:|--:|--:|--:|--:|--:|")
    for brokers in scale.brokers:
        fleet = many_brokers(
            scale.folder / f"brokers-{brokers}", brokers=brokers, partitions=scale.partitions
        )
        with tempfile.TemporaryDirectory() as out:
            cost = alone(_audit, fleet, Path(out))
        print(_row(brokers, cost))


def _row(brokers: int, cost: Cost) -> str:
    segments, cpu = cost.result, cost.cpu + cost.workers
    each, of_workers = (1e6 * seconds / segments for seconds in (cpu, cost.workers))
    within = "" if cost.peak_mib <= DRIVER_MIB else " MISSED"
    cells = [
        *(f"{brokers:,}", f"{segments:,}", f"{cost.wall:.1f}", f"{cpu:.1f}", f"{each:.0f}"),
        *(f"{of_workers:.0f}", f"{cost.peak_mib:.0f}{within}", f"{os.getloadavg()[0]:.0f}"),
    ]
    return f"| {' | '.join(cells)} |"


def _audit(fleet: Path, out: Path) -> int:
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        main(["fleet", "audit", str(fleet), "--out", str(out), "--driver", "local"])
    return int(DeltaTable(out / "segments").count())
