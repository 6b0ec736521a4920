"""The fleet audit from twelve thousand to a million segments: CPU a segment, and the driver's memory."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from deltalake import DeltaTable

from bench.alone import Cost, alone, command
from bench.data import many_brokers
from bench.scale import Scale

DRIVER_MIB = 512
"""Goal: the driver of a million segments takes no more."""
CONSTANT = 1.15
"""Goal: beyond what any audit takes to start and report, the dearest segment is to the cheapest as this."""
_OFTEN = 100
"""Brokers in all the audits of one size: the small ones, which are done sooner, are run several times."""


def run(scale: Scale) -> None:
    """Audits of each size, start and report included; of several the least CPU, for others run beside it."""
    print("\n## fleet audit by size, no Spark\n")
    print("| brokers | segments | wall s | CPU s | CPU us a segment | of it workers | driver MiB | load |")
    print("|--:|--:|--:|--:|--:|--:|--:|--:|")
    costs = []
    for brokers in scale.brokers:
        fleet = many_brokers(
            scale.folder / f"brokers-{brokers}", brokers=brokers, partitions=scale.partitions
        )
        times = max(1, min(scale.runs, _OFTEN // brokers))
        costs.append(min((_measured(fleet) for _ in range(times)), key=_cpu))
        print(_row(brokers, costs[-1]), flush=True)
    if len(costs) > 2:
        print(_fitted(costs))


def _measured(fleet: Path) -> Cost:
    with tempfile.TemporaryDirectory() as out:
        cost = alone(command, "fleet", "audit", fleet, "--out", out, "--driver", "local")
        return replace(cost, result=int(DeltaTable(Path(out, "segments")).count()))


def _cpu(cost: Cost) -> float:
    return cost.cpu + cost.workers


def _row(brokers: int, cost: Cost) -> str:
    segments, cpu = cost.result, _cpu(cost)
    each, of_workers = (1e6 * seconds / segments for seconds in (cpu, cost.workers))
    within = "" if cost.peak_mib <= DRIVER_MIB else " MISSED"
    cells = [
        *(f"{brokers:,}", f"{segments:,}", f"{cost.wall:.1f}", f"{cpu:.1f}", f"{each:.0f}"),
        *(f"{of_workers:.0f}", f"{cost.peak_mib:.0f}{within}", f"{os.getloadavg()[0]:.0f}"),
    ]
    return f"| {' | '.join(cells)} |"


def _fitted(costs: Sequence[Cost]) -> str:
    """The line that is off by as small a part of each size as can be, and how far apart they are."""
    segments, cpu = np.array([(cost.result, _cpu(cost)) for cost in costs]).T
    lines = np.stack([np.ones_like(cpu), segments], axis=1) / cpu[:, None]
    fixed, each = np.linalg.lstsq(lines, np.ones_like(cpu), rcond=None)[0]
    beyond = 1e6 * (cpu - fixed) / segments
    ratio, raw = (each.max() / each.min() for each in (beyond, cpu / segments))
    return (
        f"\nAny audit {fixed:.2f} CPU s, and {1e6 * each:.0f} us a segment; by size "
        f"{', '.join(f'{us:.0f}' for us in beyond)}, {ratio:.2f} from the least to the most "
        f"(<= {CONSTANT} {'reached' if ratio <= CONSTANT else 'MISSED'}; {raw:.2f} with the fixed part)"
    )
