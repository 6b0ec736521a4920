"""`segmend plan` of one move, a drain and a balance, on a broker of many; its forecast is the measure."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.memory import another_disk

from bench.data import finish, many_segments
from bench.measure import race
from bench.peers import segmend
from bench.scale import Scale
from bench.table import show_waits

A_PARTITION = 10
ONE_SECONDS = 1.0
WHOLE_RATIO = 3.0
OTHER_ID, THIRD_ID = "5Ck7mLhOSHGMUSQB0K3Dfg", "7Ck7mLhOSHGMUSQB0K3Dfg"
OF = ("--kafka", "4.3")


def run(scale: Scale) -> None:
    """20,000 segments in 2,000 partitions of one log dir, and an empty one beside it."""
    count = scale.segments // 5
    folder = many_segments(scale.folder / "brokers-plan", segments=count, a_partition=A_PARTITION)
    other = beside(scale.folder / "brokers-plan-empty", OTHER_ID)
    dirs = (folder, other, *OF)
    forecast = segmend("forecast of the whole", "forecast", *dirs)
    one = segmend("plan move of one", "plan", "move", *dirs, "--partition", "tiny-7", "--to", other)
    drain = segmend("plan drain of all", "plan", "drain", *dirs, "--from", folder)
    with tempfile.TemporaryDirectory(dir=another_disk(scale.folder)) as far:
        third = beside(Path(far), THIRD_ID)
        balance = segmend("plan balance, half of them to another disk", "plan", "balance", folder, third, *OF)
        race([forecast, one, drain, balance], runs=scale.runs)
    most = WHOLE_RATIO * forecast.median
    waits = [(one, ONE_SECONDS), (drain, most), (balance, most)]
    show_waits(f"plans for a broker of {count // A_PARTITION:,} partitions, {count:,} segments", waits)


def beside(other: Path, directory_id: str) -> Path:
    """An empty log dir of the same broker."""
    other.mkdir(exist_ok=True)
    finish(other, {})
    identity = other / "meta.properties"
    ours = identity.read_text().splitlines(keepends=True)
    own = [f"directory.id={directory_id}\n" if line.startswith("directory.id=") else line for line in ours]
    identity.write_text("".join(own))
    return other
