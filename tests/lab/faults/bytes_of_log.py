"""Faults in the bytes of `.log` (catalogue 6.1)."""

from __future__ import annotations

import struct
from collections.abc import Callable

from tests.checks.build_partition import seal
from tests.checks.surgery import flipped, positions, with_field, zeroed
from tests.lab.faults.patient import Change, Patient
from tests.lab.faults.table import fault

V2 = (0, 11)


def cut(size: int) -> Change:
    """Without the last bytes."""
    return lambda data: data[:-size]


def longer(tail: bytes) -> Change:
    """With bytes behind the end."""
    return lambda data: data + tail


def without(number: int) -> Change:
    """Without one batch."""

    def changed(data: bytes) -> bytes:
        places = [*positions(data), len(data)]
        number_ = number % (len(places) - 1)
        return data[: places[number_]] + data[places[number_ + 1] :]

    return changed


def twice(number: int) -> Change:
    """With one batch repeated right behind itself."""

    def changed(data: bytes) -> bytes:
        places = [*positions(data), len(data)]
        number_ = number % (len(places) - 1)
        one = data[places[number_] : places[number_ + 1]]
        return data[: places[number_ + 1]] + one + data[places[number_ + 1] :]

    return changed


def resealed(number: int, at: int, form: str, change: Callable[[int], int]) -> Change:
    """One field under the CRC changed, and the CRC made right."""

    def changed(data: bytes) -> bytes:
        places = [*positions(data), len(data)]
        number_ = number % (len(places) - 1)
        one = bytearray(data[places[number_] : places[number_ + 1]])
        struct.pack_into(form, one, at, change(struct.unpack_from(form, one, at)[0]))
        return data[: places[number_]] + seal(bytes(one)) + data[places[number_ + 1] :]

    return changed


def below_base(patient: Patient) -> None:
    """A batch of the rolled segment claims an offset below the segment's base."""
    patient.log("rolled", with_field(1, "offset", lambda _: patient.base("rolled") - 5))


def back_in_segment(patient: Patient, role: str = "rolled") -> None:
    """The last batch of a segment claims the segment's base offset."""
    patient.log(role, with_field(-1, "offset", lambda _: patient.base(role)))


def old_batch_at_tail(patient: Patient) -> None:
    """A batch of the rolled segment again, behind the end of the active one."""
    data = patient.file("rolled").read_bytes()
    patient.log("active", longer(data[: positions(data)[1]]))


def unindexed_flip(patient: Patient, role: str) -> None:
    """A bad CRC, and no `.index`."""
    patient.log(role, flipped(2))
    patient.remove(role, "index")


def on(role: str, change: Change) -> Callable[[Patient], None]:
    """The change applied to the log of that role."""
    return lambda patient: patient.log(role, change)


FAULTS = [
    fault("log-torn-tail", "L01", on("active", cut(10))),
    fault("log-torn-tail-to-header", "L01", on("active", lambda data: data[: positions(data)[-1] + 30])),
    fault("log-last-batch-lost", "L01", on("active", without(-1))),
    fault("log-torn-rolled", "L01", on("rolled", cut(10))),
    fault("log-torn-old", "L01", on("old", cut(10))),
    fault("log-tail-1-byte", "L02", on("active", longer(b"\1"))),
    fault("log-tail-16-zeros", "L02", on("active", longer(bytes(16)))),
    fault("log-tail-17-bytes", "L02", on("active", longer(b"\x7f" * 17))),
    fault("log-tail-18-zeros", "L03", on("active", longer(bytes(18))), alone="clean"),
    fault("log-tail-4096-zeros", "L03", on("active", longer(bytes(4096))), alone="clean"),
    fault("log-tail-garbage", "L03", on("active", longer(b"\xa5" * 400)), alone="clean"),
    fault("log-tail-zeros-rolled", "L03", on("rolled", longer(bytes(500)))),
    fault("log-hole-old", "L04", on("old", zeroed(1, 2))),
    fault("log-hole-rolled", "L04", on("rolled", zeroed(1, 2))),
    fault("log-hole-active", "L04", on("active", zeroed(1, 2))),
    fault("log-flip-first", "L05", on("first", flipped(1))),
    fault("log-flip-old", "L05", on("old", flipped(2))),
    fault("log-flip-rolled", "L05", on("rolled", flipped(2))),
    fault("log-flip-rolled-first-batch", "L05", on("rolled", flipped(0))),
    fault("log-flip-rolled-last-batch", "L05", on("rolled", flipped(-1))),
    fault("log-flip-old-without-index", "L06", lambda patient: unindexed_flip(patient, "old")),
    fault("log-flip-rolled-without-index", "L06", lambda patient: unindexed_flip(patient, "rolled")),
    fault("log-flip-active-first-batch", "L07", on("active", flipped(0))),
    fault("log-flip-active-last-batch", "L07", on("active", flipped(-1))),
    fault("log-size-large-old", "L08", on("old", with_field(1, "size", lambda _: 1 << 20))),
    fault("log-size-large-rolled", "L08", on("rolled", with_field(1, "size", lambda _: 1 << 20))),
    fault("log-size-large-active", "L08", on("active", with_field(-1, "size", lambda _: 1 << 20))),
    fault(
        "log-size-huge-rolled",
        "L08",
        on("rolled", with_field(1, "size", lambda _: 0x7FFFFFFF)),
        alone="killed",
    ),
    fault("log-size-5-old", "L09", on("old", with_field(1, "size", lambda _: 5))),
    fault("log-size-0-rolled", "L09", on("rolled", with_field(1, "size", lambda _: 0))),
    fault("log-size-negative-rolled", "L09", on("rolled", with_field(1, "size", lambda _: -7))),
    fault("log-size-5-active-last", "L09", on("active", with_field(-1, "size", lambda _: 5)), alone="clean"),
    fault("log-size-plausible-rolled", "L10", on("rolled", with_field(1, "size", lambda size: size + 3))),
    fault("log-magic-3-rolled", "L11", on("rolled", with_field(1, "magic", lambda _: 3))),
    fault("log-magic-3-active-last", "L11", on("active", with_field(-1, "magic", lambda _: 3))),
    fault("log-magic-0-rolled", "L12", on("rolled", with_field(1, "magic", lambda _: 0))),
    fault("log-magic-1-rolled", "L12", on("rolled", with_field(1, "magic", lambda _: 1))),
    fault("log-magic-minus-128-rolled", "L12", on("rolled", with_field(1, "magic", lambda _: -128))),
    fault("log-offset-below-base", "L13", below_base, alone="killed"),
    fault(
        "log-offset-high-bit",
        "L13",
        on("rolled", with_field(1, "offset", lambda o: o - (1 << 63))),
        alone="killed",
    ),
    fault("log-offset-backwards-rolled", "L14", back_in_segment),
    fault(
        "log-offset-backwards-active",
        "L14",
        lambda patient: back_in_segment(patient, "active"),
        alone="killed",
    ),
    fault("log-offset-high-last", "L15", on("active", with_field(-1, "offset", lambda o: o + (1 << 20)))),
    fault("log-offset-high-rolled", "L15", on("rolled", with_field(-1, "offset", lambda o: o + (1 << 20)))),
    fault("log-batch-twice-old", "L16", on("old", twice(1))),
    fault("log-batch-twice-rolled", "L16", on("rolled", twice(1))),
    fault("log-batch-twice-active-last", "L16", on("active", twice(-1))),
    fault(
        "log-epoch-high-rolled", "L17", on("rolled", with_field(1, "epoch", lambda e: e + 0x10000)), since=V2
    ),
    fault(
        "log-epoch-high-active", "L17", on("active", with_field(-1, "epoch", lambda e: e + 0x10000)), since=V2
    ),
    fault("log-epoch-negative-rolled", "L17", on("rolled", with_field(1, "epoch", lambda _: -5)), since=V2),
    fault("log-codec-7", "L18", on("rolled", resealed(1, 21, ">h", lambda a: a | 7)), since=V2),
    fault("log-count-wrong", "L20", on("rolled", resealed(1, 57, ">i", lambda n: n + 1)), since=V2),
    fault("log-count-wrong-active", "L20", on("active", resealed(-1, 57, ">i", lambda n: n + 1)), since=V2),
    fault(
        "log-max-time-2100", "L22", on("active", resealed(-1, 35, ">q", lambda _: 4102444800000)), since=V2
    ),
    fault(
        "log-offset-overflow-active",
        "L23",
        on("active", with_field(-1, "offset", lambda o: o + (1 << 32))),
        alone="clean killed",
    ),
    fault("log-empty-first", "L24", on("first", lambda _: b"")),
    fault("log-empty-old", "L24", on("old", lambda _: b"")),
    fault("log-empty-rolled", "L24", on("rolled", lambda _: b"")),
    fault("log-empty-active", "L25", on("active", lambda _: b"")),
    fault(
        "log-half-active",
        "L25",
        on("active", lambda data: data[: positions(data)[len(positions(data)) // 2]]),
    ),
    fault("log-old-batch-at-tail", "L26", old_batch_at_tail, alone="killed"),
    fault("log-batch-excised-rolled", "L04", on("rolled", without(1))),
]
