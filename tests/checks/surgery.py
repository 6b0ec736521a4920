"""Hands for the damage tables: find a batch in a log by its number, and change a field of it."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from pathlib import Path

from . import build_partition as build
from .damages import Base

Hurt = Callable[[Sequence[Path]], None]

ROLLED = "t-0/00000000000000000054"
ACTIVE = "t-0/00000000000000000164"
FIELDS = {"offset": (0, ">q"), "size": (8, ">i"), "epoch": (12, ">i"), "magic": (16, ">b"), "crc": (17, ">I")}


def positions(data: bytes) -> list[int]:
    """Where the batches of a healthy log begin."""
    found, at = [], 0
    while at < len(data):
        found.append(at)
        at += 12 + int.from_bytes(data[at + 8 : at + 12], "big")
    return found


def field(data: bytes, number: int, name: str) -> int:
    """A header field of the batch of this number (from the end if negative)."""
    at, form = FIELDS[name]
    return int(struct.unpack_from(form, data, positions(data)[number] + at)[0])


def with_field(number: int, name: str, change: Callable[[int], int]) -> Callable[[bytes], bytes]:
    """The log with a field of one batch changed and nothing else."""

    def changed(data: bytes) -> bytes:
        at, form = FIELDS[name]
        out = bytearray(data)
        place = positions(data)[number] + at
        struct.pack_into(form, out, place, change(field(data, number, name)))
        return bytes(out)

    return changed


def flipped(number: int, at: int = 70) -> Callable[[bytes], bytes]:
    """The log with one bit of a batch's payload changed."""

    def changed(data: bytes) -> bytes:
        out = bytearray(data)
        out[positions(data)[number] + at] ^= 4
        return bytes(out)

    return changed


def zeroed(first: int, last: int) -> Callable[[bytes], bytes]:
    """The log with batches `first` to `last` (exclusive) turned to zeros."""

    def changed(data: bytes) -> bytes:
        start, end = (positions(data)[n] for n in (first, last))
        return data[:start] + bytes(end - start) + data[end:]

    return changed


def entry(row: int, form: str, at: int, change: Callable[[int], int]) -> Callable[[bytes], bytes]:
    """An index with one number of one entry changed; `form` is of the number, `at` its place by row 0."""
    width = {8: 8, 12: 12, 34: 34}

    def changed(data: bytes, size: int = 8) -> bytes:
        out = bytearray(data)
        place = (row % (len(data) // width[size])) * size + at
        struct.pack_into(form, out, place, change(struct.unpack_from(form, out, place)[0]))
        return bytes(out)

    return changed


def time_entry(row: int, form: str, at: int, change: Callable[[int], int]) -> Callable[[bytes], bytes]:
    """As `entry`, for a time index."""
    one = entry(row, form, at, change)
    return lambda data: one(data, 12)  # type: ignore[call-arg]


def txn_entry(row: int, form: str, at: int, change: Callable[[int], int]) -> Callable[[bytes], bytes]:
    """As `entry`, for a transaction index."""
    one = entry(row, form, at, change)
    return lambda data: one(data, 34)  # type: ignore[call-arg]


def unhurt(_dirs: Sequence[Path]) -> None:
    """Nothing: the base is written with the damage in it."""


def one(*writers: Callable[[], build.PartitionWriter], clean: bool = True) -> Base:
    """A base of one log dir with these partitions."""
    return lambda root: [build.write_log_dir(root / "a", [writer() for writer in writers], clean=clean)]


def with_batch(
    make: Callable[[build.PartitionWriter], None], *, rolled: bool = True
) -> Callable[[], build.PartitionWriter]:
    """A plain partition of which `make` writes a batch into the middle of a segment."""

    def made() -> build.PartitionWriter:
        writer = build.PartitionWriter("t")
        for _ in range(4):
            writer.append(3)
        make(writer)
        for _ in range(4):
            writer.append(3)
        if rolled:
            writer.roll()
            writer.append(2)
        return writer

    return made
