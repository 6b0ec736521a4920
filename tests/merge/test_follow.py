"""The compiled kernel lets a run grow as Python does, whatever the rows are."""

import random
from typing import Any

import pytest
from tests.seeds import SEED

from segmend.formats.batch import RecordBatch
from segmend.formats.java_number import LONG_MAX
from segmend.kernel.native_runs import RUNS
from segmend.merge.open_run import MARK_BITS, ROW, OpenRun

pytestmark = pytest.mark.skipif(RUNS is None, reason="no compiled kernel")
EDGES = (-(1 << 63), -1, 0, 1, (1 << 61) - 1, 1 << 61, (1 << 63) - 1)


def rows_of(dice: random.Random, first: int, count: int) -> list[list[int]]:
    """Batches one behind the other, of which about every second one makes a mark."""
    rows, position = [], 0
    for _ in range(count):
        size, records = dice.randrange(80, 2000), dice.randrange(1, 9)
        last, crc = first + records - 1, dice.getrandbits(32) & dice.choice((-1, ~MARK_BITS))
        rows.append([position, size, first, last, 3, 2, crc, 0, records - 1, 5, 5, -1, -1, -1, records, 1])
        first, position = last + 1, position + size
    return rows


def grown(name: str, rows: list[list[int]], below: int) -> tuple[Any, ...]:
    held = RecordBatch._make(rows[0][:-1])
    run = OpenRun(held.base_offset, held.partition_leader_epoch, held.position, held.magic)
    data = b"".join(ROW.pack(*row) for row in rows)
    count = getattr(run, name)(held, data, ROW.size, below)
    return count, run.end, run.run("f", 0)


def test_as_python_does() -> None:
    dice = random.Random(SEED)
    taken = 0
    for number in range(60):
        first = dice.choice((0, 7, 1 << 40, LONG_MAX - 2000))
        rows = rows_of(dice, first, 200 if number % 2 else 12)
        if number % 3:
            row = rows[dice.randrange(1, len(rows))]
            at = dice.randrange(16)
            row[at] = dice.choice((*EDGES, row[at] ^ 1 << dice.randrange(8), row[at] + 1))
            row[at] = min(max(row[at], EDGES[0]), EDGES[-1])
        below = dice.choice((LONG_MAX, first + 30, rows[-1][3]))
        plain = grown("_follow", rows, below)
        assert grown("_follow_quickly", rows, below) == plain, (SEED, number)
        taken += plain[0]
    assert taken > 1000


def test_the_same_hash() -> None:
    assert RUNS is not None
    dice = random.Random(SEED)
    for _ in range(2000):
        numbers = tuple(dice.choice((*EDGES, dice.getrandbits(63) - dice.getrandbits(63))) for _ in range(5))
        assert RUNS.segmend_digest(*numbers) == hash(numbers)
