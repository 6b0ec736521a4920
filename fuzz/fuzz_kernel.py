"""Damaged logs and indexes through both engines: no exception, no hang, the same answers.

    python -m fuzz.fuzz_kernel --seconds 600 --seed 1

Stops at the first difference or exception and says the seed that shows it again.
"""

from __future__ import annotations

import argparse
import dataclasses
import random
import resource
import struct
import sys
import time
from typing import Any

import pyarrow as pa
from tests.faults.hands import positions
from tests.kernel.log_writer import seal, varied_log

from segmend.formats.producer_snapshot import ProducerStateEntry
from segmend.kernel.arrow import batch_headers, record_batches
from segmend.kernel.columns import COLUMNS, WantedRecords
from segmend.kernel.engine import engine_named
from segmend.kernel.scan import ScanTask, scan_log
from segmend.kernel.types import BatchRange, BytesReader, Problem

ENGINES = ("native", "reference")
BASE = 100
SLOW_SECONDS = 20.0

INTERESTING = (0, 1, 2, 13, 14, 48, 49, 61, 0x7F, 0x80, 0xFF, 2**31 - 1, 2**31, 2**32 - 1)


def mutate(chance: random.Random, data: bytearray) -> None:
    """One change of the kinds that disks, software and enemies make."""
    at = chance.randrange(len(data))
    kind = chance.randrange(8)
    if kind < 2:
        data[at] ^= 1 << chance.randrange(8)
    elif kind == 2:
        data[at : at + 4] = struct.pack(">I", chance.choice(INTERESTING))
    elif kind == 3:
        data[at : at + chance.randrange(1, 600)] = bytes(chance.randrange(600))
    elif kind == 4:
        other = chance.randrange(len(data))
        data[at:at] = data[other : other + chance.randrange(400)]
    elif kind == 5:
        del data[at : at + chance.randrange(1, 300)]
    else:
        header_field(chance, data)


def header_field(chance: random.Random, data: bytearray) -> None:
    """Something else in one field of one header."""
    try:
        begins = positions(bytes(data))
    except struct.error:
        return
    at = chance.choice(begins)
    field, width = chance.choice(
        [(0, 8), (8, 4), (12, 4), (16, 1), (21, 2), (23, 4), (27, 8), (35, 8), (43, 8), (51, 2), (57, 4)]
    )
    value = chance.choice([*INTERESTING, chance.getrandbits(64), -1, -(2**63)])
    data[at + field : at + field + width] = (value & (256**width - 1)).to_bytes(width, "big")


def reseal(chance: random.Random, data: bytearray) -> None:
    """Right checksums for most batches, so that the code behind them is reached."""
    at = 0
    while len(data) - at > 61:
        size = 12 + struct.unpack_from(">i", data, at + 8)[0]
        if not 61 <= size <= len(data) - at:
            return
        if chance.random() < 0.9:
            data[at : at + size] = seal(bytes(data[at : at + size]))
        at += size


def a_log(chance: random.Random) -> bytes:
    """A varied log with up to eight faults."""
    data = bytearray(varied_log(chance.getrandbits(32), chance.randrange(1, 25)))
    for _ in range(chance.randrange(0, 9)):
        if data:
            mutate(chance, data)
    if chance.random() < 0.6:
        reseal(chance, data)
    if chance.random() < 0.2:
        data += bytes(chance.choice([1, 16, 17, 18, 5000]))
    return bytes(data)


def an_index(chance: random.Random, layout: str, log: bytes) -> bytes | None:
    """Entries that mostly ascend, with faults."""
    if chance.random() < 0.2:
        return None
    first, second, rows = 0, 0, []
    for _ in range(chance.randrange(0, 40)):
        first, second = first + chance.randrange(0, 9), second + chance.choice([1, 300, len(log) // 20])
        rows.append(
            struct.pack(
                layout, *((first, second) if layout == ">ii" else (1_700_000_000_000 + second, first))
            )
        )
    data = bytearray(b"".join(rows))
    for _ in range(chance.randrange(0, 3)):
        if data:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    return bytes(data) + bytes(chance.choice([0, 0, 8, 12, 50]))


def compare_scans(chance: random.Random, data: bytes) -> None:
    """`scan_log` of both engines, in windows of two sizes."""
    options: dict[str, Any] = {
        "base_offset": chance.choice([BASE, 0, 120]),
        "crc": chance.random() < 0.6,
        "records": chance.random() < 0.6,
        "offset_index": an_index(chance, ">ii", data),
        "time_index": an_index(chance, ">qi", data),
        "producers": (ProducerStateEntry(producer_id=7, producer_epoch=0, current_txn_first_offset=90),),
    }
    results = [
        scan_log(BytesReader(data), ScanTask(**options), engine=engine_named(name), window=window)
        for name, window in (
            ("native", 1 << 20),
            ("reference", 1 << 20),
            ("native", chance.randrange(64, 3000)),
        )
    ]
    for other in results[1:]:
        for field in dataclasses.fields(other):
            one, two = getattr(results[0], field.name), getattr(other, field.name)
            assert one == two, f"{field.name}: {one} != {two} with {options}"


def compare_records(chance: random.Random, data: bytes) -> None:
    """Records and headers as Arrow."""
    wanted = WantedRecords(
        control=chance.random() < 0.5,
        columns=frozenset(chance.sample(COLUMNS, chance.randrange(1, len(COLUMNS)))),
        first_offset=chance.choice([0, 150]),
    )
    among = BatchRange(base_offset=BASE, crc=chance.random() < 0.6)
    target = chance.choice([50, 2000, 4 << 20])
    found = []
    for engine in ENGINES:
        problems: list[Problem] = []
        batches = list(
            record_batches(
                BytesReader(data), wanted, among, engine=engine, problems=problems.append, target=target
            )
        )
        for batch in batches:
            batch.validate(full=True)
        headers = list(batch_headers(BytesReader(data), among, engine=engine))
        tables = [
            pa.Table.from_batches(each).combine_chunks() if each else None for each in (batches, headers)
        ]
        found.append((tables, sorted(problems, key=lambda problem: (problem.position, problem.kind))))
    assert found[0][1] == found[1][1], (
        f"problems: {found[0][1]} != {found[1][1]} with {wanted}, {among}, {target}"
    )
    for one, two in zip(found[0][0], found[1][0], strict=True):
        assert (one is None and two is None) or one.equals(two), f"columns differ with {among}, {target}"


def main() -> int:
    """Run until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    begin, rounds, slowest = time.monotonic(), 0, 0.0
    while time.monotonic() - begin < arguments.seconds:
        seed = arguments.seed * 1_000_003 + rounds
        chance, started = random.Random(seed), time.monotonic()
        data = a_log(chance)
        try:
            compare_scans(chance, data)
            compare_records(chance, data)
        except BaseException:
            print(f"round {rounds}: random.Random({seed}) shows it", file=sys.stderr)
            raise
        slowest = max(slowest, time.monotonic() - started)
        assert slowest < SLOW_SECONDS, f"random.Random({seed}) took {slowest:.1f} s"
        rounds += 1
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{rounds} logs, both engines equal; slowest {slowest:.2f} s, peak {peak} MiB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
