"""Faults in the bytes of `.log` (catalogue 6.1)."""

import os
from collections.abc import Callable, Sequence
from typing import Any

from tests.checks import build_partition as build
from tests.checks.build_partition import PartitionWriter, batch, record, seal
from tests.faults.hands import (
    before,
    cut,
    emptied,
    flipped,
    longer,
    positions,
    resealed,
    twice,
    with_field,
    without,
    zeroed,
)
from tests.faults.hurts import Hurt, both, on, removed, unhurt
from tests.faults.patient import HIGH, Patient
from tests.faults.table import fault, killed, under, unflushed, written
from tests.faults.written import Base, one

V2 = (0, 11)
RECOVERED = (
    "epochs-rewritten high-watermark-reset recovery-scan segments-deleted snapshot-deleted tail-truncated"
)
TORN = batch(220, [record(0, b"k", b"v" * 40)])[:50]


def below_base(patient: Patient) -> None:
    """A batch of the rolled segment claims an offset below the segment's base."""
    patient.log("rolled", with_field(1, "offset", lambda _: patient.base("rolled") - 5))


def back_in_segment(patient: Patient, role: str = "rolled") -> None:
    """The last batch of a segment claims the segment's base offset."""
    patient.log(role, with_field(-1, "offset", lambda _: patient.base(role)))


def old_batch_at_tail(patient: Patient) -> None:
    """A batch of the rolled segment again, behind the end of the active one."""
    patient.log("active", longer(before(1)(patient.file("rolled").read_bytes())))


def cut_unseen(*emptied_kinds: str) -> Hurt:
    """The active log ends in its middle, and its indexes alone had what was behind."""

    def hurt(patient: Patient) -> None:
        patient.log("active", lambda data: data[: positions(data)[len(positions(data)) // 2]])
        patient.line(HIGH, patient.base("active"))
        for path in patient.snapshots:
            if int(path.stem) > patient.base("active"):
                path.unlink()
        for kind in emptied_kinds:
            patient.index("active", kind, emptied)

    return hurt


def without_index(role: str) -> Hurt:
    """A bad CRC, and no `.index`."""
    return both(on(role, flipped(2)), removed("index", role=role))


def with_batch(make: Callable[[PartitionWriter], object]) -> Base:
    """A log dir with a partition of which `make` writes a batch into the middle of a segment."""
    return one(lambda: _with_batch(make))


def _with_batch(make: Callable[[PartitionWriter], object], *, rolled: bool = True) -> PartitionWriter:
    writer = PartitionWriter("t")
    for _ in range(4):
        writer.append(3)
    make(writer)
    for _ in range(4):
        writer.append(3)
    if rolled:
        writer.roll()
        writer.append(2)
    return writer


def ready(size: int, make: Callable[..., bytes]) -> Base:
    """The same with ready bytes of three records, which end `size` milliseconds after the writer's clock."""

    def write(writer: PartitionWriter) -> None:
        records = [record(i, b"k", b"v" * 20, timestamp_delta=i) for i in range(3)]
        data = make(writer.next_offset, records, base_timestamp=writer.clock)
        writer.write(data, 3, writer.clock + size)

    return with_batch(write)


def not_gzip(*of: Any, **more: Any) -> bytes:
    """Bytes that are called compressed."""
    plain = batch(*of, **more)
    return seal(plain[:22] + b"\1" + plain[23:])


def late(offset: int, records: Sequence[bytes], base_timestamp: int) -> bytes:
    """A largest timestamp that no record has."""
    return batch(offset, records, base_timestamp=base_timestamp, max_timestamp=base_timestamp + 500)


def inner_of_another_magic(writer: PartitionWriter) -> None:
    inner = [build.legacy_message(i, b"v", magic=0) for i in range(3)]
    writer.write(build.wrapper(writer.next_offset + 2, inner), 3, build.START_MS)


def far_away() -> PartitionWriter:
    """The last batch 2^20 too high; its timestamp is not the largest, so no index names it."""
    writer = _with_batch(lambda _: None, rolled=False)
    writer.clock -= 60_000
    end = writer.next_offset + 2
    writer.next_offset += 2**20
    writer.append(2)
    writer.next_offset = end
    return writer


def too_wide() -> PartitionWriter:
    """A segment that spans 3e9 offsets, as compaction before 1.1.1 made them."""
    writer = _with_batch(lambda _: None, rolled=False)
    writer.interval = 1 << 30
    writer.clock -= 60_000
    writer.next_offset += 3_000_000_000
    for _ in range(3):
        writer.append(2)
    return writer


def without_keys() -> PartitionWriter:
    writer = _with_batch(lambda w: w.append(2, keys=False))
    writer.compacted = True
    return writer


def again(data: bytes) -> bytes:
    """A batch of the middle once more at the end."""
    return data + data[positions(data)[6] : positions(data)[7]]


FAULTS = [
    fault("log-torn-tail", on("active", cut(10)),
        "C04 C10b L01", "high-watermark-reset reads-fail snapshot-deleted 0..219 -1",
        killed("C10b L01", "high-watermark-reset recovery-scan tail-truncated 0..219 -1", mend="trim: C10b"),
        mend="trim: C04 C10b P03"),
    fault("log-torn-tail-to-header", on("active", lambda data: data[: positions(data)[-1] + 30]),
        "C04 C10b L01", "high-watermark-reset reads-fail snapshot-deleted 0..219 -1",
        mend="trim: C04 C10b P03"),
    fault("log-last-batch-lost", on("active", without(-1)),
        "C04 C10b", "high-watermark-reset snapshot-deleted 0..219 -1"),
    fault("log-torn-rolled", on("rolled", cut(10)),
        "L01+", "reads-fail 0..220", unflushed("L01+", f"{RECOVERED} 0..107 -101", mend="trim: N08"),
        mend="trim: N08"),
    fault("log-torn-old", on("old", cut(10)), "L01+", "reads-fail 0..220", mend="trim: N08"),
    written("log-torn-more", on("active", longer(TORN)),
        "L01", "reads-fail 0..220", killed("L01", "recovery-scan tail-truncated 0..220", mend="trim"),
        mend="trim"),
    fault("log-torn-more-rolled", on("rolled", longer(TORN)),
        "L01+", "0..220", mend="trim", marks="clean", alone="clean"),
    fault("log-tail-9-bytes-rolled", on("rolled", longer(b"\1" * 9)),
        "L02+", "0..220", mend="trim", marks="clean", alone="clean"),
    fault("log-tail-1-byte", on("active", longer(b"\1")), "L02", "reads-fail 0..220", mend="trim"),
    fault("log-tail-16-zeros", on("active", longer(bytes(16))),
        "L02", "reads-fail 0..220", killed("L02", "recovery-scan tail-truncated 0..220", mend="trim"),
        mend="trim"),
    fault("log-tail-17-bytes", on("active", longer(b"\x7f" * 17)), "L02", "reads-fail 0..220", mend="trim"),
    fault("log-tail-18-zeros", on("active", longer(bytes(18))), "L03", "refuses", alone="clean", mend="trim"),
    fault("log-tail-4096-zeros", on("active", longer(bytes(4096))),
        "L03", "refuses",
        killed("L03", "recovery-scan tail-truncated 0..220", says="Found invalid messages", mend="trim"),
        alone="clean", says="smaller than minimum record overhead (14)", mend="trim"),
    fault("log-tail-garbage", on("active", longer(b"\xa5" * 400)),
        "L04", "refuses", alone="clean", mend="trim"),
    fault("log-tail-zeros-rolled", on("rolled", longer(bytes(500))),
        "L03+", "reads-fail 0..220", mend="trim"),
    fault("log-hole-old", on("old", zeroed(1, 2)), "L04+", "reads-fail 0..220", mend="trim: N08"),
    fault("log-hole-rolled", on("rolled", zeroed(1, 2)),
        "L04+", "reads-fail 0..220", killed("L04+", "reads-fail recovery-scan 0..220", mend="trim: N08"),
        unflushed("L04+", f"{RECOVERED} 0..55 -148", says="Corruption found in segment 54", mend="trim: N08"),
        mend="trim: N08"),
    fault("log-hole-active", on("active", zeroed(1, 2)), "L04+", "reads-fail 0..220", mend="trim"),
    fault("log-flip-first", on("first", flipped(1)), "L05++", "reads-fail 0..220", mend="trim: N08"),
    fault("log-flip-old", on("old", flipped(2)), "L05++", "reads-fail 0..220", mend="trim: N08"),
    fault("log-flip-rolled", on("rolled", flipped(2)),
        "L05++", "reads-fail 0..220", unflushed("L05++", f"{RECOVERED} 0..58 -148", mend="trim: N08"),
        mend="trim: N08"),
    fault("log-flip-rolled-first-batch", on("rolled", flipped(0)),
        "I21= L05++ P11=", "reads-fail 0..220", mend="trim: L24"),
    fault("log-flip-rolled-last-batch", on("rolled", flipped(-1)),
        "L05++", "reads-fail 0..220", mend="trim: N08"),
    fault("log-flip-old-without-index", without_index("old"),
        "I01 L06++", "index-rebuilt reads-fail tail-truncated 0..220 -47", mend="repair --blank"),
    fault("log-flip-rolled-without-index", without_index("rolled"),
        "I01 L06++", "index-rebuilt reads-fail tail-truncated 0..220 -47", mend="repair --blank"),
    fault("log-flip-active-first-batch", on("active", flipped(0)),
        "I21= L07++ P11=", "reads-fail 0..220", mend="trim: E06"),
    fault("log-flip-active-last-batch", on("active", flipped(-1)),
        "L07++", "reads-fail 0..220",
        killed("L07++", "high-watermark-reset recovery-scan tail-truncated 0..219 -1", mend="trim"),
        mend="trim"),
    fault("log-size-large-old", on("old", with_field(1, "size", lambda _: 1 << 20)),
        "L08+", "reads-fail 0..220", mend="repair"),
    fault("log-size-large-rolled", on("rolled", with_field(1, "size", lambda _: 1 << 20)),
        "L08+", "reads-fail 0..220",
        unflushed("L08+", f"{RECOVERED} 0..55 -148", says="truncating to offset", mend="repair"),
        mend="repair"),
    fault("log-size-large-active", on("active", with_field(-1, "size", lambda _: 1 << 20)),
        "C04 C10b L08", "high-watermark-reset reads-fail snapshot-deleted 0..219 -1",
        mend="repair"),
    fault("log-size-huge-rolled", on("rolled", with_field(1, "size", lambda _: 0x7FFFFFFF)),
        "L08+", "reads-fail 0..220", alone="killed", mend="repair"),
    written("log-size-huge-active", on("active", with_field(1, "size", lambda _: 0x7FFFFFFF)),
        "L08+", "reads-fail 0..220",
        killed("I25- L08+",
            "refuses index-rebuilt", release="1.1.0", says="capacity < 0: (-2147483637 < 0)", mend="repair"),
        killed("I25- L08+",
            "epochs-rewritten high-watermark-reset index-rebuilt recovery-scan tail-truncated 0..165 -48",
            release="1.1.1", mend="repair"),
        mend="repair"),
    fault("log-size-5-old", on("old", with_field(1, "size", lambda _: 5)),
        "L09+", "reads-fail 0..220",
        unflushed("L09+", f"{RECOVERED} 0..55 -148", says="Found invalid messages", mend="repair"),
        mend="repair"),
    fault("log-size-0-rolled", on("rolled", with_field(1, "size", lambda _: 0)),
        "L09+", "reads-fail 0..220", mend="repair"),
    fault("log-size-negative-rolled", on("rolled", with_field(1, "size", lambda _: -7)),
        "L09+", "reads-fail 0..220", mend="repair"),
    fault("log-size-5-active-last", on("active", with_field(-1, "size", lambda _: 5)),
        "C04 C10b L09", "refuses", alone="clean", mend="repair"),
    fault("log-size-plausible-rolled", on("rolled", with_field(1, "size", lambda size: size + 3)),
        "L04= L10++", "reads-fail 0..220", mend="repair --deep"),
    written("log-size-inside", on("rolled", with_field(6, "size", lambda size: size - 9)),
        "L10+", "reads-fail 0..220", mend="repair"),
    fault("log-magic-3-rolled", on("rolled", with_field(1, "magic", lambda _: 3)),
        "L11+", "reads-fail 0..220", unflushed("L11+", "reads-fail recovery-scan 0..220", mend="repair"),
        mend="repair"),
    fault("log-magic-3-active-last", on("active", with_field(-1, "magic", lambda _: 3)),
        "L11+", "reads-fail 0..220", mend="repair"),
    fault("log-magic-0-rolled", on("rolled", with_field(1, "magic", lambda _: 0)),
        "L12++", "reads-fail 0..220", mend="repair --deep"),
    fault("log-magic-1-rolled", on("rolled", with_field(1, "magic", lambda _: 1)),
        "I16= L12++", "reads-fail 0..220",
        unflushed("I16= L12++", f"{RECOVERED} 0..55 -149", mend="repair --deep"), mend="repair --deep"),
    fault("log-magic-minus-128-rolled", on("rolled", with_field(1, "magic", lambda _: -128)),
        "L12+", "reads-fail 0..220", mend="repair"),
    fault("log-offset-below-base", below_base,
        "L13+", "0..220",
        unflushed("L13+", "refuses recovery-scan", says="Split operation is only permitted", mend="repair"),
        alone="killed", mend="repair"),
    fault("log-offset-high-bit", on("rolled", with_field(1, "offset", lambda o: o - (1 << 63))),
        "L13+", "0..220",
        unflushed("L13+", "refuses recovery-scan", says="Split operation is only permitted", mend="repair"),
        alone="killed", mend="repair"),
    written("log-offset-far-above", on("rolled", with_field(6, "offset", lambda o: o | 1 << 40)),
        "L13+", "0..220", mend="repair"),
    fault("log-offset-backwards-rolled", back_in_segment, "L14+", "reads-fail 0..220", mend="repair"),
    fault("log-offset-backwards-active", lambda patient: back_in_segment(patient, "active"),
        "C04 C10b L14+",
            "epochs-rewritten high-watermark-reset reads-fail snapshot-deleted tail-truncated 0..165 -52",
        alone="killed", mend="repair"),
    written("log-offset-down", on("rolled", with_field(6, "offset", lambda o: o - 9)),
        "L14+", "reads-fail 0..220", mend="repair"),
    written("log-offset-up", on("rolled", with_field(6, "offset", lambda o: o + 16)),
        "L14+", "reads-fail 0..220", mend="repair"),
    fault("log-offset-high-last", on("active", with_field(-1, "offset", lambda o: o + (1 << 20))),
        "C15+ I16+ L15+", "0..1048796", mend="repair"),
    fault("log-offset-high-rolled", on("rolled", with_field(-1, "offset", lambda o: o + (1 << 20))),
        "I16+ L15+", "reads-fail 0..220", mend="repair"),
    written("log-offset-far-away", unhurt, "C15+ L15+", "0..1048602", base=one(far_away), mend="repair"),
    fault("log-batch-twice-old", on("old", twice(1)), "I10+ L16+", "reads-fail 0..220", mend="repair"),
    fault("log-batch-twice-rolled", on("rolled", twice(1)), "I10+ L16+", "reads-fail 0..220", mend="repair"),
    fault("log-batch-twice-active-last", on("active", twice(-1)), "L16+", "reads-fail 0..220", mend="repair"),
    fault("log-epoch-high-rolled", on("rolled", with_field(1, "epoch", lambda e: e + 0x10000)),
        "L17+", "0..220", unflushed("L17+", "epochs-rewritten recovery-scan 0..220"), since=V2),
    fault("log-epoch-high-active", on("active", with_field(-1, "epoch", lambda e: e + 0x10000)),
        "", "0..220", since=V2),
    fault("log-epoch-negative-rolled", on("rolled", with_field(1, "epoch", lambda _: -5)),
        "", "0..220", since=V2),
    written("log-epoch-low-active", on("active", with_field(6, "epoch", lambda e: e - 4)),
        "L17+", "0..220", mend="repair"),
    fault("log-codec-7", on("rolled", resealed(1, 21, ">h", lambda a: a | 7)),
        "L18+", "reads-fail 0..220", since=V2, mend="repair --blank"),
    written("log-not-gzip", unhurt,
        "L19++", "reads-fail 0..29", base=ready(2, not_gzip), mend="repair --blank"),
    fault("log-count-wrong", on("rolled", resealed(1, 57, ">i", lambda n: n + 1)),
        "L20++", "reads-fail 0..220", since=V2, mend="repair --blank"),
    fault("log-count-wrong-active", on("active", resealed(-1, 57, ">i", lambda n: n + 1)),
        "L20++", "reads-fail 0..220", since=V2, mend="repair --blank"),
    written("log-inner-magic", unhurt, "L21++", "0..29", base=with_batch(inner_of_another_magic)),
    fault("log-max-time-2100", on("active", resealed(-1, 35, ">q", lambda _: 4102444800000)),
        "I16+ L22++", "0..220", since=V2, mend="repair --deep: L22"),
    written("log-max-time-late", unhurt, "L22++", "0..29", base=ready(500, late)),
    fault("log-offset-overflow-active", on("active", with_field(-1, "offset", lambda o: o + (1 << 32))),
        "C15+ L13+", "0..4294967516", alone="clean killed", mend="repair"),
    written("log-too-wide", unhurt, "L23+", "0..3000000030", base=one(too_wide)),
    written("log-too-large", lambda patient: os.truncate(patient.file("rolled"), 2**31),
        "L23", "refuses", under("2.0", "L23", "refuses", says="IllegalArgumentException"), vast=True,
        says="larger than the maximum allowed"),
    written("log-too-large-by-far", lambda patient: os.truncate(patient.file("rolled"), 2**32 + 2000),
        "L23", "refuses", under("1.1", "L23", "reads-fail 0..220"), vast=True),
    fault("log-empty-first", on("first", emptied), "L24+", "reads-fail 0..220"),
    fault("log-empty-old", on("old", emptied), "L24+", "reads-fail 0..220"),
    fault("log-empty-rolled", on("rolled", emptied), "L24+", "reads-fail 0..220"),
    fault("log-empty-active", on("active", emptied),
        "C04 C10b E06+ L25", "epochs-rewritten high-watermark-reset snapshot-deleted 0..164 -56"),
    written("log-zeroed-active", on("active", lambda data: bytes(len(data))),
        "C04 C10b E06+ L25 L03", "refuses",
        killed("C10b E06+ L25 L03",
            "epochs-rewritten high-watermark-reset recovery-scan tail-truncated 0..164 -56")),
    fault("log-half-active", on("active", lambda data: data[: positions(data)[len(positions(data)) // 2]]),
        "C04 C10b L25",
            "epochs-rewritten high-watermark-reset reads-fail snapshot-deleted tail-truncated 0..164 -53"),
    fault("log-cut-unseen", cut_unseen(),
        "I15+ I21+ L25", "recovery-scan 0..191", marks="killed", clean=False),
    written("log-cut-unseen-by-times", cut_unseen("timeindex"),
        "I21+ L25", "recovery-scan 0..191", clean=False),
    written("log-cut-unseen-by-offsets", cut_unseen("index"),
        "I15+ I21+ L25", "recovery-scan 0..191", clean=False),
    fault("log-old-batch-at-tail", old_batch_at_tail,
        "C04 C10b E06+ L13+ L17+",
            "epochs-rewritten high-watermark-reset reads-fail snapshot-deleted tail-truncated 0..55 -51",
        killed("C10b E06+ L13+ L17+", "refuses recovery-scan"), alone="killed"),
    written("log-own-batch-at-tail", on("active", again),
        "C04 C10b L26+", "high-watermark-reset reads-fail snapshot-deleted tail-truncated 0..178 -40",
        killed("C10b L26+",
            "epochs-rewritten high-watermark-reset recovery-scan segment-emptied 0..164 -52")),
    fault("log-batch-excised-rolled", on("rolled", without(1)), "I10+", "reads-fail 0..220", mend="repair"),
    written("log-null-keys", unhurt, "L27++", "0..28", base=one(without_keys)),
]  # fmt: skip
