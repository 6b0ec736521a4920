"""Damage to the bytes of a `.log`: catalogue 6.1."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from segmend.checks import Level

from . import build_partition as build
from .build_partition import PartitionWriter, batch, record
from .damages import Row, all_of, clean_dir, in_place, killed_dir, removed
from .surgery import ACTIVE, ROLLED, flipped, one, positions, unhurt, with_batch, with_field, zeroed

TORN = build.batch(220, [record(0, b"k", b"v" * 40)])[:50]


def records(count: int) -> list[bytes]:
    return [record(i, b"k", b"v" * 20, timestamp_delta=i) for i in range(count)]


def codec_seven(writer: PartitionWriter) -> None:
    writer.write(
        batch(writer.next_offset, records(3), attributes=7, base_timestamp=writer.clock), 3, writer.clock + 2
    )


def not_gzip(writer: PartitionWriter) -> None:
    plain = batch(writer.next_offset, records(3), base_timestamp=writer.clock)
    writer.write(build.seal(plain[:22] + b"\1" + plain[23:]), 3, writer.clock + 2)


def wrong_count(writer: PartitionWriter) -> None:
    data = batch(writer.next_offset, records(3), base_timestamp=writer.clock, count=5)
    writer.write(data, 3, writer.clock + 2)


def inner_of_another_magic(writer: PartitionWriter) -> None:
    inner = [build.legacy_message(i, b"v", magic=0) for i in range(3)]
    writer.write(build.wrapper(writer.next_offset + 2, inner), 3, build.START_MS)


def wrong_max_timestamp(writer: PartitionWriter) -> None:
    late = writer.clock + 500
    writer.write(
        batch(writer.next_offset, records(3), base_timestamp=writer.clock, max_timestamp=late), 3, late
    )


def twice(writer: PartitionWriter) -> None:
    log = writer.segments[-1].log
    log += log[writer.segments[-1].positions[-1] :]


def stale_at_the_end() -> PartitionWriter:
    writer = build.story("t")
    log, places = writer.segments[-1].log, writer.segments[-1].positions
    log += log[places[6] : places[7]]
    return writer


def far_away() -> PartitionWriter:
    """The last batch 2^20 too high; its timestamp is not the largest, so no index names it."""
    writer = with_batch(lambda w: None, rolled=False)()
    writer.clock -= 60_000
    end = writer.next_offset
    writer.next_offset += 2**20
    writer.append(2)
    writer.next_offset = end
    return writer


def too_wide() -> PartitionWriter:
    """Two segments of which the first spans 3e9 offsets, as compaction before 1.1.1 made them."""
    writer = with_batch(lambda w: None, rolled=False)()
    writer.interval = 1 << 30
    writer.clock -= 60_000
    writer.next_offset += 3_000_000_000
    for _ in range(3):
        writer.append(2)
    return writer


def without_keys() -> PartitionWriter:
    writer = with_batch(lambda w: w.append(2, keys=False))()
    writer.compacted = True
    return writer


def appended(name: str, data: bytes) -> object:
    return in_place(name, lambda old: old + data)


def two_gibibytes(dirs: Sequence[Path]) -> None:
    os.truncate(dirs[0] / f"{ROLLED}.log", 2**31)


def row(name: str, codes: str, hurt: object, base: object = clean_dir, level: Level = Level.DEFAULT) -> Row:
    return Row(name=name, codes=frozenset(codes.split()), hurt=hurt, base=base, level=level)  # type: ignore[arg-type]


ROWS = [
    row("torn-tail", "L01", appended(f"{ACTIVE}.log", TORN)),
    row("torn-tail-startup", "L01", appended(f"{ACTIVE}.log", TORN), level=Level.STARTUP),
    row("torn-tail-killed", "L01", appended(f"{ACTIVE}.log", TORN), killed_dir),
    row("torn-rolled", "L01", appended(f"{ROLLED}.log", TORN)),
    row("fragment", "L02", appended(f"{ACTIVE}.log", b"\0" * 16)),
    row("fragment-startup", "L02", appended(f"{ACTIVE}.log", b"\0" * 16), level=Level.STARTUP),
    row("zero-tail", "L03", appended(f"{ACTIVE}.log", bytes(5000))),
    row("zero-tail-startup", "L03", appended(f"{ACTIVE}.log", bytes(5000)), level=Level.STARTUP),
    row("zero-tail-killed", "", appended(f"{ACTIVE}.log", bytes(5000)), killed_dir, Level.DEEP),
    row("hole", "L04", in_place(f"{ROLLED}.log", zeroed(6, 9))),
    row("hole-deep", "L04", in_place(f"{ROLLED}.log", zeroed(6, 9)), level=Level.DEEP),
    row("crc-rolled", "L05", in_place(f"{ROLLED}.log", flipped(8)), level=Level.DEEP),
    # A missing index alone is I01; with a bad batch it becomes destructive, which is L06.
    row(
        "crc-without-index",
        "L06 I01",
        all_of(in_place(f"{ROLLED}.log", flipped(8)), removed(f"{ROLLED}.index")),
        level=Level.DEEP,
    ),
    row("crc-active", "L07", in_place(f"{ACTIVE}.log", flipped(8)), level=Level.DEEP),
    row("size-past-end", "L08", in_place(f"{ROLLED}.log", with_field(6, "size", lambda _: 0xFFFFFF))),
    row("size-too-small", "L09", in_place(f"{ROLLED}.log", with_field(6, "size", lambda _: 5))),
    row("size-inside", "L10", in_place(f"{ROLLED}.log", with_field(6, "size", lambda size: size - 9))),
    row(
        "size-inside-deep",
        "L10",
        in_place(f"{ROLLED}.log", with_field(6, "size", lambda size: size - 9)),
        level=Level.DEEP,
    ),
    row("magic-3", "L11", in_place(f"{ROLLED}.log", with_field(6, "magic", lambda _: 3))),
    row("magic-1", "L12", in_place(f"{ROLLED}.log", with_field(6, "magic", lambda _: 1)), level=Level.DEEP),
    row("magic-negative", "L12", in_place(f"{ROLLED}.log", with_field(6, "magic", lambda _: -2))),
    row("offset-negative", "L13", in_place(f"{ROLLED}.log", with_field(6, "offset", lambda o: o - 2**63))),
    row("offset-before-base", "L13", in_place(f"{ROLLED}.log", with_field(6, "offset", lambda _: 3))),
    row("offset-far-above", "L13", in_place(f"{ROLLED}.log", with_field(6, "offset", lambda o: o | 1 << 40))),
    row("offset-down", "L14", in_place(f"{ROLLED}.log", with_field(6, "offset", lambda o: o - 9))),
    row("offset-up", "L14", in_place(f"{ROLLED}.log", with_field(6, "offset", lambda o: o + 16))),
    row("offset-far", "L15", unhurt, one(far_away)),
    row("twice", "L16", unhurt, one(with_batch(twice))),
    row("epoch-high", "L17", in_place(f"{ROLLED}.log", with_field(6, "epoch", lambda e: e | 1 << 28))),
    row("epoch-low", "L17", in_place(f"{ACTIVE}.log", with_field(6, "epoch", lambda e: e - 4))),
    row("codec-7", "L18", unhurt, one(with_batch(codec_seven))),
    row("not-gzip", "L19", unhurt, one(with_batch(not_gzip)), Level.DEEP),
    row("record-count", "L20", unhurt, one(with_batch(wrong_count)), Level.DEEP),
    row("inner-magic", "L21", unhurt, one(with_batch(inner_of_another_magic)), Level.DEEP),
    row("max-timestamp", "L22", unhurt, one(with_batch(wrong_max_timestamp)), Level.DEEP),
    row("too-wide", "L23", unhurt, one(too_wide)),
    row("too-large", "L23", two_gibibytes, level=Level.STARTUP),
    row("emptied", "L24", in_place(f"{ROLLED}.log", lambda _: b"")),
    # After a clean stop the checkpoints stand at the log end offset, so they contradict a log that lost it.
    row("end-lost", "L25 C04 C10b", in_place(f"{ACTIVE}.log", lambda data: data[: positions(data)[9]])),
    row("end-lost-startup", "L25 C04 C10b", in_place(f"{ACTIVE}.log", lambda _: b""), level=Level.STARTUP),
    row("stale", "L26 C04 C10b", unhurt, one(stale_at_the_end)),
    row("null-keys", "L27", unhurt, one(without_keys), Level.DEEP),
]
