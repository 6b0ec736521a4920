"""Faults in the text checkpoints of a log dir and in its clean shutdown marker (catalogue 6.5)."""

from __future__ import annotations

from collections.abc import Callable

from tests.lab.faults.patient import CLEANER, HIGH, RECOVERY, START, Change, Patient, put
from tests.lab.faults.table import alone, fault

MARKER = ".kafka_cleanshutdown"
BOTH = "clean killed"


def file(name: str, content: str) -> Callable[[Patient], None]:
    """A file of the partition's log dir rewritten."""
    return lambda patient: put(patient.log_dir / name, content)


def gone(name: str) -> Callable[[Patient], None]:
    """A file of the log dir removed."""
    return lambda patient: (patient.log_dir / name).unlink()


def edited(name: str, change: Change) -> Callable[[Patient], None]:
    """A file of the log dir changed."""
    return lambda patient: patient.edit(patient.log_dir / name, change)


def doubled(patient: Patient) -> None:
    """The partition's recovery point twice, the last one 0."""
    patient.line(RECOVERY, patient.end)
    path = patient.log_dir / RECOVERY
    version, count, *rest = path.read_text().splitlines()
    path.write_text("\n".join([version, str(int(count) + 1), *rest, f"{patient.topic} 0 0", ""]))


def huge(name: str) -> Callable[[Patient], None]:
    """A count of 2^31-1."""
    return file(name, "0\n2147483647\n")


FAULTS = [
    alone("recovery-count", "C01", file(RECOVERY, "0\n5\nf 0 1\n"), marks=BOTH),
    alone("recovery-blank-line", "C01", edited(RECOVERY, lambda data: data + b"\n")),
    alone("recovery-two-tokens", "C01", file(RECOVERY, "0\n1\nf 0\n")),
    alone("recovery-version", "C01", file(RECOVERY, "7\n0\n")),
    alone("recovery-not-a-number", "C02", file(RECOVERY, "0\n1\nf 0 x\n"), marks=BOTH),
    alone("recovery-missing", "C03", gone(RECOVERY), marks=BOTH),
    alone("recovery-empty", "C03", file(RECOVERY, ""), marks=BOTH),
    fault("recovery-above-end", "C04", lambda p: p.line(RECOVERY, p.end + 1000)),
    fault("recovery-at-end", "C04", lambda p: p.line(RECOVERY, p.end)),
    fault("recovery-zero", "C04", lambda p: p.line(RECOVERY, 0)),
    fault("recovery-line-missing", "C03", lambda p: p.line(RECOVERY, None)),
    fault("recovery-negative", "C06", lambda p: p.line(RECOVERY, -5)),
    alone("recovery-huge-count", "C05", huge(RECOVERY)),
    alone("recovery-doubled", "C06", doubled, marks=BOTH),
    alone("recovery-crlf", "C06", edited(RECOVERY, lambda data: data.replace(b"\n", b"\r\n"))),
    alone("start-malformed", "C07", file(START, "0\n3\nf 0 1\n")),
    alone("start-not-a-number", "C07", file(START, "0\n1\nf 0 x\n")),
    fault("start-beyond-end", "C08", lambda p: p.line(START, 100000), alone=BOTH),
    fault("start-at-end", "C09", lambda p: p.line(START, p.end), alone=BOTH),
    fault("start-inside", "C09", lambda p: p.line(START, p.base("rolled") + 2), alone=BOTH),
    fault("start-negative", "C06", lambda p: p.line(START, -4)),
    alone("high-watermark-malformed", "C10", file(HIGH, "0\n3\nf 0 1\n")),
    alone("high-watermark-not-a-number", "C10", file(HIGH, "0\n1\nf 0 x\n")),
    alone("high-watermark-missing", "C10", gone(HIGH)),
    fault("high-watermark-above-end", "C10", lambda p: p.line(HIGH, p.end + 1000)),
    fault("high-watermark-zero", "C10", lambda p: p.line(HIGH, 0)),
    alone("cleaner-malformed", "C11", file(CLEANER, "0\n3\nf 0 1\n")),
    fault("cleaner-above-end", "C11", lambda p: p.line(CLEANER, p.end + 1000)),
    alone("marker-after-kill", "C12", file(MARKER, '{"version":0,"brokerEpoch":7}'), marks="killed"),
    alone("marker-gone", "C13", gone(MARKER)),
    alone("marker-garbage", "C14", file(MARKER, "{")),
    alone("marker-empty", "C14", file(MARKER, "")),
    fault("checkpoint-tmp-left", "C15", lambda p: put(p.log_dir / f"{RECOVERY}.tmp", "x")),
]
