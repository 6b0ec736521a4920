"""Hands that hurt bytes: changes of a log by the numbers of its batches, of indexes by rows."""

import random
import struct
from collections.abc import Callable

from tests.checks.build_partition import seal

Change = Callable[[bytes], bytes]
Number = Callable[[int], int]
FIELDS = {"offset": (0, ">q"), "size": (8, ">i"), "epoch": (12, ">i"), "magic": (16, ">b"), "crc": (17, ">I")}


def positions(data: bytes | bytearray) -> list[int]:
    """Where the batches of a healthy log begin."""
    found, at = [], 0
    while at < len(data):
        found.append(at)
        at += 12 + int.from_bytes(data[at + 8 : at + 12], "big")
    return found


def parts(data: bytes, number: int) -> tuple[bytes, bytes, bytes]:
    """What lies before the batch of this number (from the end if negative), the batch, and what follows."""
    places = [*positions(data), len(data)]
    number %= len(places) - 1
    return data[: places[number]], data[places[number] : places[number + 1]], data[places[number + 1] :]


def field(data: bytes, number: int, name: str) -> int:
    """A header field of the batch of this number (from the end if negative)."""
    at, form = FIELDS[name]
    return int(struct.unpack_from(form, data, positions(data)[number] + at)[0])


def with_field(number: int, name: str, change: Number) -> Change:
    """The log with a field of one batch changed and nothing else."""
    at, form = FIELDS[name]
    return lambda data: with_number(data, form, positions(data)[number] + at, change)


def with_number(data: bytes, form: str, at: int, change: Number) -> bytes:
    """The bytes with one number changed."""
    out = bytearray(data)
    struct.pack_into(form, out, at, change(struct.unpack_from(form, out, at)[0]))
    return bytes(out)


def in_batch(number: int, change: Change) -> Change:
    """The log with one batch changed."""

    def changed(data: bytes) -> bytes:
        before, one, behind = parts(data, number)
        return before + change(one) + behind

    return changed


def resealed(number: int, at: int, form: str, change: Number) -> Change:
    """One field under the CRC changed, and the CRC made right."""
    return in_batch(number, lambda one: seal(with_number(one, form, at, change)))


def flipped(number: int, at: int = 70) -> Change:
    """The log with one bit of a batch's payload changed."""
    return lambda data: with_number(data, ">B", positions(data)[number] + at, lambda byte: byte ^ 4)


def zeroed(first: int, last: int) -> Change:
    """The log with batches `first` to `last` (exclusive) with_any_bit to zeros."""

    def changed(data: bytes) -> bytes:
        start, end = (positions(data)[n] for n in (first, last))
        return data[:start] + bytes(end - start) + data[end:]

    return changed


def without(number: int) -> Change:
    """Without one batch."""
    return in_batch(number, lambda _: b"")


def twice(number: int) -> Change:
    """With one batch repeated right behind itself."""
    return in_batch(number, lambda one: one * 2)


def before(number: int) -> Change:
    """The log up to a batch."""
    return lambda data: parts(data, number)[0]


def cut(size: int) -> Change:
    """Without the last bytes."""
    return lambda data: data[:-size]


def longer(tail: bytes) -> Change:
    """With bytes behind the end."""
    return lambda data: data + tail


def emptied(_data: bytes) -> bytes:
    """Nothing."""
    return b""


def turn_any(
    data: bytearray | memoryview, draw: random.Random, first: int = 0, end: int | None = None
) -> None:
    """Turn one bit of these bytes over."""
    data[draw.randrange(first, len(data) if end is None else end)] ^= 1 << draw.randrange(8)


def with_any_bit(data: bytes, draw: random.Random) -> bytes:
    """The bytes with one bit with_any_bit over."""
    out = bytearray(data)
    turn_any(out, draw)
    return bytes(out)


def entry(row: int, form: str, at: int, change: Number, size: int = 8) -> Change:
    """An index with one number of one entry changed; `form` is of the number, `at` its place in the entry."""
    return lambda data: with_number(data, form, row % (len(data) // size) * size + at, change)


def offset(row: int, change: Number) -> Change:
    """The relative offset of an entry of an offset index."""
    return entry(row, ">i", 0, change)


def position(row: int, change: Number) -> Change:
    """The position of an entry of an offset index."""
    return entry(row, ">i", 4, change)


def time_entry(row: int, form: str, at: int, change: Number) -> Change:
    """As `entry`, for a time index."""
    return entry(row, form, at, change, 12)


def txn_entry(row: int, form: str, at: int, change: Number) -> Change:
    """As `entry`, for a transaction index."""
    return entry(row, form, at, change, 34)
