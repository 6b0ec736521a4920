"""Damage that more than one family does: each makes a function that hurts a patient."""

import shutil
from collections.abc import Callable

from tests.faults.hands import Change
from tests.faults.on_disk import put_folder, put_link, remove_all, rewrite
from tests.faults.patient import Patient, put

Hurt = Callable[[Patient], object]
METADATA = "__cluster_metadata-0"
HEX = "0123456789abcdef0123456789abcdef"
SET = ("log", "index", "timeindex", "txnindex")


def unhurt(_patient: Patient) -> None:
    """Nothing: what is written has the damage in it."""


def both(*hurts: Hurt) -> Hurt:
    """Several that make one."""
    return lambda patient: [hurt(patient) for hurt in hurts]


def on(role: str, change: Change) -> Hurt:
    """A segment's log changed."""
    return lambda patient: patient.log(role, change)


def index(role: str, change: Change, kind: str = "index") -> Hurt:
    """An index changed whose zeros were taken off."""
    return lambda patient: patient.index(role, kind, change)


def removed(*kinds: str, role: str = "rolled") -> Hurt:
    """Files of a segment removed."""
    return lambda patient: patient.remove(role, *kinds)


def segment_removed(role: str) -> Hurt:
    """Everything of a segment removed, its snapshot too."""
    return lambda patient: remove_all(patient.partition, f"{patient.base(role):020d}.*")


def left(name: str, content: str | bytes = b"") -> Hurt:
    """A file in the partition directory."""
    return lambda patient: patient.write(name, content)


def file(name: str, content: str | bytes) -> Hurt:
    """A file of the partition's log dir rewritten."""
    return lambda patient: put(patient.log_dir / name, content)


def edited(name: str, change: Change) -> Hurt:
    """A file of the log dir changed."""
    return lambda patient: rewrite(patient.log_dir / name, change)


def gone(name: str) -> Hurt:
    """A file of the log dir removed."""
    return lambda patient: (patient.log_dir / name).unlink()


def folder(name: str) -> Hurt:
    """A directory in the log dir."""
    return lambda patient: (patient.log_dir / name).mkdir()


def instead(name: str, inside: str = "") -> Hurt:
    """A directory in place of a file: of PARTITION, of __cluster_metadata-0 or of the partition's log dir."""

    def hurt(patient: Patient) -> None:
        path = patient.log_dir / name.replace("PARTITION", patient.partition.name)
        if name.startswith(METADATA):
            path = next(each for each in patient.dirs if (each / METADATA).exists()) / name
        put_folder(path, inside)

    return hurt


def linked(name: str, target: str = "/nowhere/at/all") -> Hurt:
    """A symbolic link in place of a file of the log dir."""
    return lambda patient: put_link(patient.log_dir / name, target)


def renamed(suffix: str) -> Hurt:
    """The directory renamed."""
    return lambda patient: patient.partition.rename(f"{patient.partition}{suffix}")


def copied(old: str, new: str, *, to: int = 0) -> Hurt:
    """A file or directory of the first log dir copied to another name."""

    def hurt(patient: Patient) -> None:
        source, target = patient.dirs[0] / old, patient.dirs[to] / new
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)

    return hurt
