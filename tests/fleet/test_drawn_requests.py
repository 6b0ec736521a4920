"""How often an object store is asked, of drawn fleets: few segments, large batches, long listings.

What a broker has beside its segments is asked for once, and so counted apart: of a broker with one segment
it is most of all.
"""

import os
import random
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.checks.build_partition import PartitionWriter
from tests.fleet.bucket import asked_of
from tests.fleet.build import write_broker
from tests.seeds import SEED, sampled

from segmend.checks import Level
from segmend.fleet import object_store, remote
from segmend.fleet.audit import AuditRequest, audit
from segmend.fleet.driver import LocalDriver
from segmend.fleet.options import parse_options
from segmend.fleet.tables import open_table, read
from segmend.frozen import frozen

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("bucket"), pytest.mark.flaky(reruns=1)]

A_SEGMENT = 4
PREALLOCATED = 3
"""Of an index that may end in zeros its end is looked at, its beginning, and at last all of it."""
LARGER = sampled(2, 1)
"""A sweep draws shapes of twice as many objects as CI does."""
PAGE = 50 * LARGER
"""So many objects one answer tells here; of S3 it is 1000."""


@frozen
class Shape:
    """From what is drawn: brokers, partitions and segments, records in a batch and bytes of one."""

    brokers: tuple[int, int]
    partitions: tuple[int, int]
    segments: tuple[int, int]
    sizes: tuple[int, ...]
    batches: tuple[int, int] = (1, 6)


SHAPES = {
    "few": Shape(brokers=(1, 3), partitions=(1, 2), segments=(1, 4), sizes=(30, 3000, 90_000)),
    "large batches": Shape(
        brokers=(1, 2), partitions=(1, 2), segments=(2, 5), sizes=(100_000, 260_000, 500_000)
    ),
    "many partitions": Shape(
        brokers=(1, 1), partitions=(6 * LARGER, 9 * LARGER), segments=(2, 5), sizes=(30,), batches=(2, 2)
    ),
    "many segments": Shape(
        brokers=(1, 1), partitions=(1, 1), segments=(15 * LARGER, 30 * LARGER), sizes=(30,), batches=(2, 2)
    ),
}
CASES = [(name, SEED * 100 + number) for name in SHAPES for number in range(sampled(8, 1))]


def drawn(draw: random.Random, shape: Shape, home: Path) -> int:
    """The fleet; how many of its active segments are as a running broker has them."""
    for broker in range(1, draw.randint(*shape.brokers) + 1):
        logs = []
        for partition in range(draw.randint(*shape.partitions)):
            log, size = PartitionWriter(f"t{broker}", partition), draw.choice(shape.sizes)
            for number in range(draw.randint(*shape.segments)):
                if number:
                    log.roll()
                for _ in range(draw.randint(*shape.batches)):
                    log.append(draw.randint(1, 3), size=size + draw.randint(0, 99))
            logs.append(log)
        write_broker(home, broker, logs)
    partitions = {log.parent for log in home.rglob("*.log")}
    running = {each for each in partitions if draw.random() < draw.choice((0, 0, 0.5))}
    for partition in running:
        for name in ("*.index", "*.timeindex"):
            os.truncate(max(partition.glob(name)), (10 << 20) // 24 * 24)
    return len(running)


def _read(options: dict[str, str]) -> Callable[[str], object]:
    """The rows of a table, whose tasks know nothing of what the plan asked for."""

    def rows(url: str) -> None:
        works = open_table([url], parse_options(options), cores=1)
        remote.forget()
        assert sum(len(batch) for work in works for batch in read(work)) or options["table"] == "damage"

    return rows


def _audited(level: Level, out: Path) -> Callable[[str], object]:
    return lambda url: audit(AuditRequest(paths=(url,), out=str(out), level=level), LocalDriver(1))


RECORDS = {"table": "records"}
READS = (
    RECORDS, RECORDS | {"isolation": "read_committed"}, RECORDS | {"since": "2020-01-01T00:00:00Z"},
    RECORDS | {"offsets": "0..20"}, {"table": "segments"}, {"table": "batches"}, {"table": "damage"},
    {"table": "index_entries"},
)  # fmt: skip


@pytest.mark.parametrize(("name", "seed"), CASES)
def test_a_drawn_fleet_is_asked_little(
    name: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No object's head, each small file once by the plan and once by the tasks, few lists."""
    monkeypatch.setattr(object_store, "_PAGE", PAGE)
    home, draw = tmp_path / "fleet", random.Random(f"{name} {seed}")
    running = drawn(draw, SHAPES[name], home)
    segments = len([*home.rglob("*.log")])
    objects = sum(path.is_file() for path in home.rglob("*"))
    works = {f"audit {level.name}": _audited(level, tmp_path / level.name) for level in Level}
    works |= {" ".join(options.values()): _read(options) for options in READS}
    folders = len([path for path in home.rglob("*") if path.is_dir()]) + 1
    # A listing that one answer does not tell is one of each directory.
    lists = 2 * folders if objects < PAGE else 4 * folders
    with asked_of(home) as asked:
        for work, done in works.items():
            told = Counter(_what(line) for line in asked(done))
            assert not [each for each in told if each.startswith("HEAD")], work
            assert told.pop("LIST") <= lists, work
            of_segments = {path: count for path, count in told.items() if re.search(r"/[0-9]{20}\.", path)}
            bound = A_SEGMENT * segments + PREALLOCATED * running
            assert sum(of_segments.values()) <= bound, f"{work}: {of_segments}"
            others = {path: count for path, count in told.items() if path not in of_segments and count > 2}
            assert not others, work


def _what(line: str) -> str:
    """The object that is asked for."""
    found = re.search(r"(GET|HEAD) (\S+) HTTP", line)
    assert found, line
    if "list-type" in found[2]:
        return "LIST"
    return f"{found[1]} {found[2]}"
