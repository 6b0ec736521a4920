"""A drawn log dir on disk: real batches with their indexes, checkpoints, times of files."""

import os
import struct
from pathlib import Path

from segmend.formats.build import NO_PRODUCER, BatchProducer, NewRecord, build_batch
from tests.faults.on_disk import lines_of, put_lines
from tests.lab.retention.draw import Trial, TrialSegment, TrialTopic

MARKER = ".kafka_cleanshutdown"
EMPTY_SNAPSHOT = bytes.fromhex("000148674bc700000000")
_STAMP = struct.Struct(">qi")


def write(trial: Trial, log_dir: Path, now: int) -> None:
    """Give every topic's directory the drawn files; what else the broker keeps there stays."""
    for topic in trial.topics:
        folder = log_dir / f"{topic.name}-0"
        folder.mkdir(parents=True, exist_ok=True)
        for path in folder.iterdir():
            if path.name != "partition.metadata":
                path.unlink()
        _topic(folder, topic, now, clean=trial.clean)
    marks = {
        "recovery-point": {t.name: t.bases[-1] if trial.clean else t.recovery for t in trial.topics},
        "replication": {t.name: t.high for t in trial.topics},
        "log-start": {t.name: t.start for t in trial.topics},
    }
    for name, offsets in marks.items():
        _checkpoint(
            log_dir / f"{name}-offset-checkpoint", {k: v for k, v in offsets.items() if v is not None}
        )
    (log_dir / MARKER).unlink(missing_ok=True)
    if trial.clean:
        (log_dir / MARKER).touch()


def _checkpoint(path: Path, offsets: dict[str, int]) -> None:
    kept = [row for row in lines_of(path) if not row.split()[0].startswith("r")]
    put_lines(path, [*kept, *(f"{topic} 0 {offset}" for topic, offset in offsets.items())])


def _topic(folder: Path, topic: TrialTopic, now: int, *, clean: bool) -> None:
    bases = topic.bases
    for base, segment in zip(bases, topic.segments, strict=False):
        active = base == bases[-2]
        _segment(folder / f"{base:020d}", segment, base, now, grown=active and not clean)
        if base:
            (folder / f"{base:020d}.snapshot").write_bytes(EMPTY_SNAPSHOT)
    (folder / f"{bases[-1]:020d}.snapshot").write_bytes(EMPTY_SNAPSHOT)
    (folder / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")


def _segment(stem: Path, segment: TrialSegment, base: int, now: int, *, grown: bool) -> None:
    """`grown`: its indexes are preallocated, as those of a killed broker's active segment."""
    data, newest = b"", (-1, 0)
    for number, age in enumerate(segment.stamps):
        stamp = -1 if age is None else now - age
        offset = base + 2 * number
        records = [
            NewRecord(key=b"k%d" % (offset + n), value=b"v" * segment.value, timestamp=stamp) for n in (0, 1)
        ]
        open_one = segment.kind == "transaction"
        data += build_batch(
            records, base_offset=offset, magic=segment.magic,
            append_time=stamp if segment.kind == "append-time" else None,
            producer=BatchProducer(7, 0, offset, transactional=True) if open_one else NO_PRODUCER,
        )  # fmt: skip
        if stamp > newest[0] and segment.magic:
            newest = (stamp, offset + 1 - base)
    log, times = Path(f"{stem}.log"), Path(f"{stem}.timeindex")
    log.write_bytes(data)
    Path(f"{stem}.index").write_bytes(bytes(8 * 64) if grown else b"")
    said = index_of(segment, newest, now)
    if said is not None:
        times.write_bytes(said + bytes(12 * 64 if grown else 0))
    when = (now - segment.mtime) / 1000
    os.utime(log, (when, when))


def index_of(segment: TrialSegment, newest: tuple[int, int], now: int) -> bytes | None:
    """The bytes of the time index; None: there is none."""
    true = _STAMP.pack(*newest) if newest[0] >= 0 else b""
    said = _STAMP.pack(now - segment.said, max(2 * len(segment.stamps) - 1, 0))
    made = {
        "true": true, "missing": None, "empty": b"", "zeros": bytes(12), "zero-tail": true + bytes(24),
        "negative": _STAMP.pack(-1, 0), "lies": said, "ragged": true + b"12345",
    }  # fmt: skip
    return made[segment.index]
