"""What a person waits for: help, a small check, and the start-up check of very many segments."""

from __future__ import annotations

from pathlib import Path

from tests.checks.build_partition import PartitionWriter, write_log_dir
from tests.golden.unpack import unpack

from bench.data import many_segments
from bench.measure import race
from bench.peers import segmend
from bench.scale import Scale
from bench.table import show_waits

GOLDEN = Path(__file__).parents[2] / "tests" / "golden" / "4.3.1-clean.tar.xz"


def run(scale: Scale) -> None:
    """Process start included; half the segments must take about half the time."""
    golden = scale.folder / "golden"
    if not golden.exists():
        unpack(GOLDEN, golden)
    dirs = sorted(path.parent for path in golden.rglob("meta.properties"))
    tiny = scale.folder / "tiny"
    if not tiny.exists():
        orders = PartitionWriter("orders")
        orders.append(3)
        write_log_dir(tiny, [orders])
    half = many_segments(scale.folder / "half", segments=scale.segments // 2)
    many = many_segments(scale.folder / "many", segments=scale.segments)
    waits = [
        (segmend("segmend --help", "--help"), 0.08),
        (segmend("segmend check, one partition", "check", tiny), 0.12),
        (segmend("segmend check, golden 4.3.1", "check", *dirs), 0.4),
        (segmend("segmend check --deep, golden 4.3.1", "check", "--deep", *dirs), 0.4),
        (segmend(f"check --startup, {scale.segments // 2:,} segments", "check", "--startup", half), 2.5),
        (segmend(f"check --startup, {scale.segments:,} segments", "check", "--startup", many), 5.0),
        (
            segmend("the same, --kafka 1.1", "check", "--startup", "--kafka", "1.1", many),
            5.0,
        ),
    ]
    race([contender for contender, _ in waits], runs=scale.runs)
    show_waits("what a person waits for", waits)
