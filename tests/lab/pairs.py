"""Two faults at once: pairs drawn by a seed, both on one partition, or one on it and one on the log dirs."""

from __future__ import annotations

import hashlib
import random
import shutil
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.faults.patient import Patient, lonely_topic, patient_in
from tests.faults.table import Fault, recorded_faults
from tests.lab.releases import release

PLUS = " + "
LOG_DIR = frozenset({"checkpoints", "identity"})
"""The families that hurt what lies around the partition; a pair has at most one of them."""
LARGE = 1 << 20
CANNOT = (ArithmeticError, LookupError, OSError, StopIteration, ValueError, struct.error)
"""What a fault raises where the first one has taken away what it wants to hurt."""


@dataclass(frozen=True)
class Pair:
    """Two faults, done one after the other."""

    first: Fault
    second: Fault

    @property
    def name(self) -> str:
        """`first + second`."""
        return f"{self.first.name}{PLUS}{self.second.name}"

    @classmethod
    def named(cls, name: str) -> Pair:
        """The pair of that name."""
        faults = {each.name: each for each in recorded_faults()}
        first, second = name.split(PLUS)
        return cls(faults[first], faults[second])

    def hurt(self, patient: Patient) -> None:
        """Do both."""
        self.first.hurt(patient)
        self.second.hurt(patient)

    def as_fault(self) -> Fault:
        """The pair as a fault, which is recorded and compared like any other."""
        return Fault(
            name=self.name,
            hurt=self.hurt,
            marks=self.first.marks & self.second.marks,
            alone=self.first.alone | self.second.alone,
        )

    def works(self, base: Path, scratch: Path) -> bool:
        """Whether the second can still be done after the first, and both change something."""
        shutil.rmtree(scratch, ignore_errors=True)
        shutil.copytree(base, scratch, symlinks=True)
        patient = patient_in(scratch, lonely_topic(scratch))
        states = [content(scratch)]
        try:
            for fault in (self.first, self.second):
                fault.hurt(patient)
                states.append(content(scratch))
        except CANNOT:
            return False
        return states[0] != states[1] != states[2] != states[0]


def drawn(version: str, mark: str, seed: int) -> Iterator[Pair]:
    """Pairs without end, in an order that only the arguments and the table of faults decide."""
    table = [fault for fault in recorded_faults() if fault.applies(release(version).number, mark)]
    draw = random.Random(f"{version} {mark} {seed}")
    while True:
        first, second = draw.sample(table, 2)
        if not (first.family in LOG_DIR and second.family in LOG_DIR):
            yield Pair(first, second)


def content(root: Path) -> dict[str, str]:
    """What lies there, by path: a checksum (of preallocated files the time), or its kind."""
    return {str(path.relative_to(root)): _content(path) for path in sorted(root.rglob("*"))}


def _content(path: Path) -> str:
    if path.is_symlink() or not path.is_file():
        return "link" if path.is_symlink() else "folder"
    if path.stat().st_size > LARGE:
        return str(path.stat().st_mtime_ns)
    return hashlib.blake2b(path.read_bytes()).hexdigest()
