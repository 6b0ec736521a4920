"""Damages of the offset checkpoints and the clean shutdown marker (C)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tests.checks.damages import Row, clean_dir, in_place, killed_dir, removed, two_dirs, written, zookeeper

from segmend.checks import Level

RECOVERY, HIGH = "recovery-point-offset-checkpoint", "replication-offset-checkpoint"
START, CLEANER = "log-start-offset-checkpoint", "cleaner-offset-checkpoint"
MARKER = ".kafka_cleanshutdown"


def untrimmed(dirs: Sequence[Path]) -> None:
    """The marker in a dir that was killed: a copied or restored one."""
    (dirs[0] / MARKER).write_text('{"version":0,"brokerEpoch":7}')


def value(name: str, offset: int, topic: str = "u"):
    """Set one line of a checkpoint."""

    def change(data: bytes) -> bytes:
        lines = [line for line in data.decode().splitlines()[2:] if not line.startswith(f"{topic} ")]
        lines.append(f"{topic} 0 {offset}")
        return "\n".join(["0", str(len(lines)), *lines, ""]).encode()

    return in_place(name, change)


def codes(*names: str) -> frozenset[str]:
    return frozenset(names)


ROWS = [
    Row(
        name="count",
        codes=codes("C01"),
        base=clean_dir,
        hurt=written(RECOVERY, "0\n5\nt 0 1\n"),
        level=Level.STARTUP,
    ),
    Row(name="blank-line", codes=codes("C01"), base=clean_dir, hurt=in_place(RECOVERY, lambda b: b + b"\n")),
    Row(name="two-tokens", codes=codes("C01"), base=clean_dir, hurt=written(RECOVERY, "0\n1\nt 0\n")),
    Row(name="not-a-number", codes=codes("C02"), base=clean_dir, hurt=written(RECOVERY, "0\n1\nt 0 x\n")),
    Row(
        name="not-a-number-2.8",
        codes=codes("C01"),
        base=clean_dir,
        hurt=written(RECOVERY, "0\n1\nt 0 x\n"),
        release="2.8",
    ),
    Row(name="rp-missing-killed", codes=codes("C03"), base=killed_dir, hurt=removed(RECOVERY)),
    Row(name="rp-missing-clean", codes=codes(), base=clean_dir, hurt=removed(RECOVERY)),
    Row(name="rp-empty-killed", codes=codes(), base=killed_dir, hurt=written(RECOVERY, "")),
    Row(
        name="rp-above-leo",
        codes=codes("C04"),
        base=clean_dir,
        hurt=value(RECOVERY, 1000),
        level=Level.STARTUP,
    ),
    Row(name="huge-count", codes=codes("C05"), base=clean_dir, hurt=written(RECOVERY, "0\n2147483647\n")),
    Row(name="duplicates", codes=codes("C06"), base=clean_dir, hurt=written(HIGH, "0\n2\nu 0 1\nu 0 2\n")),
    Row(
        name="crlf",
        codes=codes("C06"),
        base=clean_dir,
        hurt=in_place(HIGH, lambda b: b.replace(b"\n", b"\r\n")),
    ),
    Row(name="negative", codes=codes("C06"), base=clean_dir, hurt=written(HIGH, "0\n1\nu 0 -1\n")),
    Row(name="start-malformed", codes=codes("C07"), base=clean_dir, hurt=written(START, "1\n0\n")),
    Row(
        name="start-beyond-end",
        codes=codes("C08"),
        base=clean_dir,
        hurt=value(START, 1000),
        level=Level.STARTUP,
    ),
    Row(
        name="start-beyond-end-2.2",
        codes=codes("C08"),
        base=zookeeper(clean_dir),
        hurt=value(START, 1000),
        release="2.2",
    ),
    Row(name="hw-malformed", codes=codes("C10"), base=clean_dir, hurt=written(HIGH, "0\n1\n")),
    Row(name="hw-above-leo", codes=codes("C10b"), base=clean_dir, hurt=value(HIGH, 1000)),
    Row(name="cleaner-malformed", codes=codes("C11"), base=clean_dir, hurt=written(CLEANER, "0\n1\nu 0\n")),
    Row(name="cleaner-above-leo", codes=codes("C11b"), base=clean_dir, hurt=value(CLEANER, 1000)),
    Row(name="marker-after-kill", codes=codes("C12"), base=killed_dir, hurt=untrimmed, level=Level.STARTUP),
    Row(name="marker-gone", codes=codes("C13"), base=clean_dir, hurt=removed(MARKER)),
    Row(name="marker-garbage", codes=codes("C14"), base=clean_dir, hurt=written(MARKER, "{")),
    Row(
        name="markers-differ",
        codes=codes("C14"),
        base=two_dirs,
        hurt=written(MARKER, '{"version":0,"brokerEpoch":8}', 1),
    ),
    Row(name="tmp", codes=codes(), base=clean_dir, hurt=written(f"{RECOVERY}.tmp", "x")),
]
