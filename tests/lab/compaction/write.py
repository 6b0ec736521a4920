"""A drawn log as files: segments with their indexes, producer snapshots, and the lines of its checkpoints."""

import os
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from segmend.formats.batch import compute_crc
from segmend.formats.build import BatchProducer, NewRecord, build_batch
from segmend.formats.producer_snapshot import ProducerSnapshot, ProducerStateEntry, render
from tests.faults.hands import positions
from tests.faults.on_disk import put_lines
from tests.lab.compaction.draw import DrawnBatch, DrawnLog, DrawnRecord, DrawnSegment
from tests.markers import build_marker

FILES = {
    "cleaner": "cleaner-offset-checkpoint",
    "start": "log-start-offset-checkpoint",
    "point": "recovery-point-offset-checkpoint",
    "high": "replication-offset-checkpoint",
}


@dataclass
class _State:
    """What the log knows while it is written: its end, its producers, its aborted transactions."""

    now: int
    end: int = 0
    producers: dict[int, ProducerStateEntry] = field(default_factory=dict)
    aborted: list[tuple[int, int, int]] = field(default_factory=list)
    starts: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Written:
    """`bases` of the segments, the `end` of the log, and what the four checkpoints say."""

    bases: tuple[int, ...]
    end: int
    lines: Mapping[str, int]


def write(partition: Path, log: DrawnLog, now: int, *, killed: bool) -> Written:
    """Put its files into a directory, in place of what is there."""
    partition.mkdir(parents=True, exist_ok=True)
    for path in partition.iterdir():
        if path.name != "partition.metadata":
            path.unlink()
    state, bases = _State(now), []
    for segment in log.segments:
        base = state.end
        bases.append(base)
        if base:
            _snapshot(partition, base, state)
        _write_segment(partition, base, segment, state)
    if not killed:
        _snapshot(partition, state.end, state)
    (partition / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    if log.damage is not None:
        _hurt(partition, bases, *log.damage)
    for base, segment in zip(bases, log.segments, strict=True):
        stamp = (now - segment.modified) / 1000
        os.utime(partition / f"{base:020d}.log", (stamp, stamp))
    return Written(tuple(bases), state.end, dict(_lines(log, bases, state.end)))


def checkpoints(log_dir: Path, written: Mapping[str, Written]) -> None:
    """The four checkpoints of a dir that has these topics."""
    for key, name in FILES.items():
        having = ((topic, each.lines[key]) for topic, each in sorted(written.items()) if key in each.lines)
        put_lines(log_dir / name, (f"{topic} 0 {offset}" for topic, offset in having))


def _lines(log: DrawnLog, bases: Sequence[int], end: int) -> Iterator[tuple[str, int]]:
    start = _place(log.start, bases, end)
    yield from {"point": end, "high": end}.items()
    if start is not None:
        yield "start", start
    cleaned = _place(log.checkpoint, bases, end)
    if cleaned is not None:
        yield "cleaner", cleaned


def _place(kind: tuple[str, int], bases: Sequence[int], end: int) -> int | None:
    name, number = kind
    base = bases[min(number, len(bases) - 1)]
    following = [*bases, end][min(number, len(bases) - 1) + 1]
    return {
        "none": None, "zero": 0, "base": base, "inside": min(base + 2, following), "active": bases[-1],
        "end": end, "beyond": end + 100, "below": max(base - 1, 0),
    }[name]  # fmt: skip


def _write_segment(partition: Path, base: int, segment: DrawnSegment, state: _State) -> None:
    data, newest, at = bytearray(), -1, base
    aborted = len(state.aborted)
    for batch in segment.batches:
        for piece, stamp in _bytes(batch, state):
            data += piece
            if stamp > newest:
                newest, at = stamp, state.end - 1
    state.end += segment.gap
    stem = partition / f"{base:020d}"
    Path(f"{stem}.log").write_bytes(data)
    Path(f"{stem}.index").write_bytes(b"")
    if segment.zeros:
        newest, at = 0, base
    entry = struct.pack(">qi", newest, at - base) if newest >= 0 else b""
    Path(f"{stem}.timeindex").write_bytes(entry if data else b"")
    rows = [struct.pack(">hqqqq", 0, *row, row[2]) for row in state.aborted[aborted:]]
    if rows:
        Path(f"{stem}.txnindex").write_bytes(b"".join(rows))


def _bytes(batch: DrawnBatch, state: _State) -> Iterator[tuple[bytes, int]]:
    stamp = state.now - batch.age
    records = [_record(each, stamp) for each in batch.records]
    base, count = state.end, len(records)
    known = state.producers.get(batch.producer)
    sequence = 0 if known is None else known.last_sequence + 1
    if batch.producer < 0:
        data = build_batch(records, base_offset=base, magic=batch.magic, codec=batch.codec)
    else:
        data = build_batch(
            records, base_offset=base, codec=batch.codec,
            producer=BatchProducer(batch.producer, 0, sequence, batch.transactional),
        )  # fmt: skip
        first = state.starts.setdefault(batch.producer, base) if batch.transactional else -1
        state.producers[batch.producer] = ProducerStateEntry(
            batch.producer, 0, sequence + count - 1, base + count - 1, count - 1, stamp, -1, first
        )
    state.end += count
    yield data, (stamp if batch.magic else -1)
    if batch.end is not None:
        yield _marker(batch, state, stamp), stamp


def _record(record: DrawnRecord, stamp: int) -> NewRecord:
    key = None if record.key is None else b"key-%04d" % record.key
    value = None if record.value is None else bytes(97 + n % 23 for n in range(record.value))
    return NewRecord(key=key, value=value, timestamp=stamp)


def _marker(batch: DrawnBatch, state: _State, stamp: int) -> bytes:
    producer, commit = batch.producer, batch.end == "commit"
    first = state.starts.pop(producer)
    if not commit:
        state.aborted.append((producer, first, state.end))
    known = state.producers[producer]
    state.producers[producer] = known._replace(
        current_txn_first_offset=-1, coordinator_epoch=0, timestamp=stamp
    )
    data = build_marker(
        offset=state.end, commit=commit, producer_id=producer, producer_epoch=0, timestamp=stamp
    )
    state.end += 1
    return data


def _snapshot(partition: Path, offset: int, state: _State) -> None:
    entries = tuple(state.producers[each] for each in sorted(state.producers))
    (partition / f"{offset:020d}.snapshot").write_bytes(render(ProducerSnapshot(entries=entries)))


def _hurt(partition: Path, bases: Sequence[int], kind: str, number: int) -> None:
    """Damage a batch of one of the segments but the last."""
    logs = [partition / f"{base:020d}.log" for base in bases[:-1]]
    logs = [path for path in logs if path.stat().st_size]
    if not logs:
        return
    path = logs[number % len(logs)]
    data = bytearray(path.read_bytes())
    places = positions(data)
    at = places[number % len(places)]
    _damages(data, at, kind)
    path.write_bytes(bytes(data))


def _damages(data: bytearray, at: int, kind: str) -> None:
    size = int.from_bytes(data[at + 8 : at + 12], "big")
    magic = data[at + 16]
    if kind == "cut-tail":
        del data[len(data) - 9 :]
    elif kind == "flip":
        data[at + 12 + size - 3] ^= 1
    elif kind == "size-huge":
        data[at + 8 : at + 12] = (size + 100_000).to_bytes(4, "big")
    elif kind == "size-small":
        data[at + 8 : at + 12] = (3).to_bytes(4, "big")
    elif kind == "magic-9":
        data[at + 16] = 9
    elif magic == 2:
        if kind == "codec-7":
            data[at + 22] = data[at + 22] & 0xF8 | 7
        else:
            data[at + 61 : at + 12 + size] = bytes(255 for _ in range(size - 49))
        crc = compute_crc(bytes(data[at : at + 12 + size]), 2)
        data[at + 17 : at + 21] = crc.to_bytes(4, "big")
