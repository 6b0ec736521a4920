"""Faults in names, in the set of segments, and in the layout (catalogue 6.6)."""

from __future__ import annotations

import shutil
from collections.abc import Callable

from tests.checks.surgery import with_field
from tests.lab.faults.patient import Patient, put
from tests.lab.faults.table import alone, fault

HEX = "0123456789abcdef0123456789abcdef"
SET = ("log", "index", "timeindex", "txnindex")
V11 = (1, 1)


def folder(name: str) -> Callable[[Patient], None]:
    """A directory in the log dir."""
    return lambda patient: (patient.log_dir / name).mkdir()


def left(name: str, content: bytes = b"") -> Callable[[Patient], None]:
    """A file in the partition directory."""
    return lambda patient: patient.write(name, content)


def renamed(suffix: str) -> Callable[[Patient], None]:
    """The directory renamed."""
    return lambda patient: patient.rename_partition(f"{patient.partition.name}{suffix}")


def segment_gone(role: str, *kinds: str) -> Callable[[Patient], None]:
    """Files of a segment removed."""
    return lambda patient: patient.remove(role, *(kinds or SET))


def wrong_base(patient: Patient) -> None:
    """The rolled segment under a name some offsets too high."""
    base = patient.base("rolled")
    for kind in SET:
        old = patient.partition / f"{base:020d}.{kind}"
        if old.exists():
            old.rename(patient.partition / f"{base + 3:020d}.{kind}")


def emptied(patient: Patient, keep: str) -> None:
    """No file left but those that `keep` names."""
    for path in list(patient.partition.iterdir()):
        if path.name not in keep.split():
            path.unlink()


def swap_set(patient: Patient) -> None:
    """The swap files of a finished compaction of the rolled segment, beside the originals."""
    patient.copy("rolled", ".swap")


def swap_alone(patient: Patient) -> None:
    """The same, with the originals gone."""
    for kind in ("log", "index", "timeindex"):
        patient.file("rolled", kind).rename(patient.file("rolled", f"{kind}.swap"))


def swap_of_two(patient: Patient) -> None:
    """A swap log that holds two segments."""
    patient.copy("rolled", ".swap")
    base = patient.base("rolled")
    more = patient.file("last-rolled").read_bytes()
    path = patient.partition / f"{base:020d}.log.swap"
    path.write_bytes(path.read_bytes() + more)


def swap_absurd(patient: Patient) -> None:
    """A swap log whose last batch claims offset 1,000,000."""
    patient.copy("rolled", ".swap")
    path = patient.partition / f"{patient.base('rolled'):020d}.log.swap"
    path.write_bytes(with_field(-1, "offset", lambda _: 1_000_000)(path.read_bytes()))


def cleaned_below_swap(patient: Patient) -> None:
    """A `.cleaned` of a lower base condemns the swap, whose originals are gone already."""
    swap_alone(patient)
    patient.copy("old", ".cleaned", kinds="log")


def unpadded(patient: Patient) -> None:
    """A segment behind the end whose name lacks its zeros."""
    shutil.copyfile(patient.file("rolled"), patient.partition / f"{patient.end + 5}.log")


def copied_with_new_base(patient: Patient) -> None:
    """Two segments that hold the same offsets."""
    patient.copy("rolled", "", base=patient.base("rolled") + 1)


def in_two_dirs(patient: Patient) -> None:
    """The same partition in both log dirs."""
    shutil.copytree(patient.partition, patient.other.parent / patient.partition.name)


def moved(patient: Patient) -> None:
    """The partition carried to the other log dir by hand, without its checkpoint lines."""
    shutil.move(patient.partition, patient.other.parent / patient.partition.name)


def linked(patient: Patient) -> None:
    """A symbolic link where the directory was."""
    target = patient.log_dir.parent / f"elsewhere-{patient.topic}"
    patient.partition.rename(target)
    patient.partition.symlink_to(target)


FAULTS = [
    alone("dir-lost-found", "N01", folder("lost+found")),
    alone("dir-bak", "N01", folder("t-0.bak")),
    alone("dir-foo-delete", "N01", folder("foo-delete")),
    alone("dir-backup-7", "N02", folder("backup-7"), marks="clean killed"),
    alone("dir-trash-1000", "N02", folder(".Trash-1000")),
    alone("file-foo-log", "N03", left("foo.log")),
    alone("file-x-cleaned", "N03", left("x.cleaned")),
    alone("file-x-swap", "N03", left("x.swap")),
    alone("file-x-index", "N03", left("x.index")),
    fault("segment-unpadded", "N04", unpadded),
    fault("segment-wrong-base", "N05", wrong_base, alone="killed"),
    fault("segments-overlap", "N07", copied_with_new_base, alone="killed"),
    fault("segment-missing-old", "N08", segment_gone("old")),
    fault("segment-missing-rolled", "N08", segment_gone("rolled")),
    fault("log-missing-rolled", "N08", segment_gone("rolled", "log")),
    fault("segment-missing-first", "N09", segment_gone("first")),
    fault("segment-missing-active", "N10", segment_gone("active")),
    fault("log-missing-active", "N10", segment_gone("active", "log")),
    fault("partition-empty", "N11", lambda p: emptied(p, "")),
    fault("partition-only-metadata", "N11", lambda p: emptied(p, "partition.metadata")),
    fault("partition-only-text", "N11", lambda p: emptied(p, "partition.metadata leader-epoch-checkpoint")),
    fault("partition-missing", "N11", lambda p: shutil.rmtree(p.partition)),
    fault("deleted-left", "N12", lambda p: p.copy("rolled", ".deleted")),
    fault("deleted-active", "N12", lambda p: p.file("active").rename(p.file("active", "log.deleted"))),
    fault("cleaned-left", "N13", lambda p: p.copy("rolled", ".cleaned")),
    fault("cleaned-below-swap", "N13", cleaned_below_swap),
    fault("swap-complete", "N14", swap_set),
    fault("swap-alone", "N14", swap_alone),
    fault("swap-of-two", "N14", swap_of_two),
    fault("swap-log-only", "N14", lambda p: p.copy("rolled", ".swap", kinds="log")),
    fault("swap-absurd-offset", "N15", swap_absurd, alone="clean killed"),
    fault(
        "swap-index-only",
        "N16",
        lambda p: shutil.copyfile(p.file("old", "index"), p.file("rolled", "index.swap")),
    ),
    alone("partition-in-two-dirs", "N17", in_two_dirs, marks="clean killed"),
    alone("partition-moved", "N18", moved, marks="clean killed"),
    alone("partition-future-only", "N18", renamed(f".{HEX}-future"), since=V11),
    alone("partition-delete", "N19", renamed(f".{HEX}-delete"), since=V11),
    alone("partition-stray", "N20", renamed(f".{HEX}-stray"), since=V11),
    alone("partition-delete-without-id", "N21", renamed("-delete")),
    fault("foreign-file", "N22", left("notes.txt", b"x")),
    fault("foreign-folder", "N22", lambda p: put(p.partition / "old" / "notes.txt", "x")),
    alone("partition-linked", "N23", linked),
    alone("dir-copy-1", "N24", folder("u-0 (1)")),
    alone("dir-long-topic", "N25", folder("u" * 250 + "-0")),
    fault(
        "segment-named-twice",
        "N26",
        lambda p: shutil.copyfile(p.file("rolled"), p.partition / f"{p.base('rolled')}.log"),
    ),
]
