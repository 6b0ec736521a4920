"""Damages of names, leftovers and the set of segments (N)."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from tests.checks import build_partition as build
from tests.checks.damages import (
    Row,
    all_of,
    clean_dir,
    killed_dir,
    metadata_dir,
    plain,
    removed,
    renamed,
    two_dirs,
    written,
)

from segmend.checks import Level

FIRST, SECOND, THIRD = (f"{base:020d}" for base in (0, 18, 36))
HEX = "0123456789abcdef0123456789abcdef"


def made(name: str):
    return lambda dirs: (dirs[0] / name).mkdir()


def linked(dirs: Sequence[Path]) -> None:
    target = dirs[0].parent / "elsewhere"
    (dirs[0] / "u-0").rename(target)
    (dirs[0] / "u-0").symlink_to(target)


def copied(old: str, new: str, *, to: int = 0):
    def hurt(dirs: Sequence[Path]) -> None:
        source, target = dirs[0] / old, dirs[to] / new
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)

    return hurt


def segment_removed(stem: str):
    def hurt(dirs: Sequence[Path]) -> None:
        for path in (dirs[0] / "u-0").glob(f"{stem}.*"):
            path.unlink()

    return hurt


def segment_renamed(old: str, new: str):
    def hurt(dirs: Sequence[Path]) -> None:
        for path in (dirs[0] / "u-0").glob(f"{old}.*"):
            path.rename(path.with_name(new + path.suffix))

    return hurt


def emptied(dirs: Sequence[Path]) -> None:
    for path in (dirs[0] / "u-0").iterdir():
        path.unlink()


def overlapping(dirs: Sequence[Path]) -> None:
    """The first segment as it was before a split: it goes on to the end of the second."""
    folder = dirs[0] / "u-0"
    whole = plain("u", segments=2, batches=9)
    whole.write_to(dirs[0].parent / "other")
    for suffix in (".log", ".index", ".timeindex"):
        shutil.copy(dirs[0].parent / "other" / "u-0" / (FIRST + suffix), folder)


def doomed_swap(dirs: Sequence[Path]) -> None:
    """The third segment exists as .swap only, and a .cleaned of the first dooms it."""
    folder = dirs[0] / "u-0"
    (folder / f"{SECOND}.log").rename(folder / f"{SECOND}.log.swap")
    for suffix in (".index", ".timeindex"):
        (folder / (SECOND + suffix)).rename(folder / f"{SECOND}{suffix}.swap")
    (folder / f"{FIRST}.log.cleaned").write_bytes(b"")


def far_swap(dirs: Sequence[Path]) -> None:
    data = build.batch(0, [build.record(0, b"k", b"v")], last_delta=10_000, count=1)
    (dirs[0] / "u-0" / f"{FIRST}.log.swap").write_bytes(data)


def started_before(dirs: Sequence[Path]) -> None:
    segment_removed(FIRST)(dirs)
    (dirs[0] / "u-0" / "leader-epoch-checkpoint").write_text("0\n1\n0 18\n")
    (dirs[0] / "log-start-offset-checkpoint").write_text("0\n1\nu 0 9\n")


ROWS = [
    Row(
        name="lost+found",
        codes=frozenset({"N01"}),
        base=clean_dir,
        hurt=made("lost+found"),
        level=Level.STARTUP,
    ),
    Row(name="backup", codes=frozenset({"N01"}), base=clean_dir, hurt=made("t-0.bak")),
    Row(name="adopted-name", codes=frozenset({"N02"}), base=clean_dir, hurt=written(".Trash-1000/info", "x")),
    Row(
        name="adopted-backup", codes=frozenset({"N02"}), base=clean_dir, hurt=written("backup-7/all.tar", "x")
    ),
    Row(name="no-number", codes=frozenset({"N03"}), base=clean_dir, hurt=written("u-0/foo.log", "")),
    Row(name="no-number-swap", codes=frozenset({"N03"}), base=clean_dir, hurt=written("u-0/x.swap", "")),
    Row(name="unpadded", codes=frozenset({"N04"}), base=clean_dir, hurt=written("u-0/688.log", "")),
    Row(
        name="misnamed",
        codes=frozenset({"N05", "I04"}),
        base=clean_dir,
        hurt=all_of(segment_renamed(THIRD, f"{45:020d}")),
    ),
    Row(name="overlap", codes=frozenset({"N07"}), base=clean_dir, hurt=overlapping),
    Row(name="hole", codes=frozenset({"N08"}), base=clean_dir, hurt=segment_removed(SECOND)),
    Row(name="start-before-first", codes=frozenset({"N09"}), base=clean_dir, hurt=started_before),
    Row(
        name="active-gone",
        codes=frozenset({"N10", "C04", "C10b"}),
        base=clean_dir,
        hurt=removed(f"u-0/{THIRD}.log"),
        level=Level.STARTUP,
    ),
    Row(name="empty", codes=frozenset({"N11"}), base=clean_dir, hurt=emptied, level=Level.STARTUP),
    Row(
        name="deleted", codes=frozenset({"N12"}), base=clean_dir, hurt=written(f"u-0/{FIRST}.log.deleted", "")
    ),
    Row(
        name="cleaned", codes=frozenset({"N13"}), base=clean_dir, hurt=written(f"u-0/{FIRST}.log.cleaned", "")
    ),
    Row(name="doomed-swap", codes=frozenset({"N13"}), base=clean_dir, hurt=doomed_swap, level=Level.STARTUP),
    Row(
        name="swap",
        codes=frozenset({"N14"}),
        base=clean_dir,
        hurt=copied(f"u-0/{SECOND}.log", f"u-0/{SECOND}.log.swap"),
    ),
    Row(name="far-swap", codes=frozenset({"N14", "N15"}), base=clean_dir, hurt=far_swap),
    Row(
        name="damaged-swap",
        codes=frozenset({"N14", "N15"}),
        base=clean_dir,
        hurt=written(f"u-0/{SECOND}.log.swap", bytes(100)),
    ),
    Row(
        name="lone-index-swap",
        codes=frozenset({"N16"}),
        base=clean_dir,
        hurt=written(f"u-0/{SECOND}.index.swap", ""),
    ),
    Row(name="two-dirs", codes=frozenset({"N17"}), base=two_dirs, hurt=copied("u-0", "u-0", to=1)),
    Row(name="leading-zero", codes=frozenset({"N17"}), base=clean_dir, hurt=copied("u-0", "u-00")),
    Row(name="future", codes=frozenset({"N18"}), base=clean_dir, hurt=renamed("u-0", f"u-0.{HEX}-future")),
    Row(
        name="future-beside-current",
        codes=frozenset(),
        base=clean_dir,
        hurt=copied("u-0", f"u-0.{HEX}-future"),
    ),
    Row(name="delete", codes=frozenset({"N19"}), base=clean_dir, hurt=renamed("u-0", f"u-0.{HEX}-delete")),
    Row(name="stray", codes=frozenset({"N20"}), base=clean_dir, hurt=renamed("u-0", f"u-0.{HEX}-stray")),
    Row(name="delete-without-id", codes=frozenset({"N21"}), base=clean_dir, hurt=made("t-0-delete")),
    Row(name="foreign-file", codes=frozenset({"N22"}), base=clean_dir, hurt=written("u-0/notes.txt", "x")),
    Row(
        name="foreign-folder",
        codes=frozenset({"N22"}),
        base=clean_dir,
        hurt=written("u-0/old/notes.txt", "x"),
    ),
    Row(
        name="tmp-beside",
        codes=frozenset(),
        base=clean_dir,
        hurt=written("u-0/leader-epoch-checkpoint.tmp", "x"),
    ),
    Row(name="link", codes=frozenset({"N23"}), base=clean_dir, hurt=linked),
    Row(name="mangled", codes=frozenset({"N24"}), base=clean_dir, hurt=made("u-0 (1)")),
    Row(name="mangled-colon", codes=frozenset({"N24"}), base=clean_dir, hurt=made("u-0:Zone.Identifier")),
    Row(name="long-topic", codes=frozenset({"N25"}), base=clean_dir, hurt=renamed("u-0", "u" * 250 + "-0")),
    Row(
        name="shadowed-copy",
        codes=frozenset({"N26"}),
        base=clean_dir,
        hurt=copied(f"u-0/{SECOND}.log", "u-0/18.log"),
    ),
    Row(name="remote-index-cache", codes=frozenset(), base=clean_dir, hurt=made("remote-log-index-cache")),
    Row(
        name="killed-deleted",
        codes=frozenset({"N12"}),
        base=killed_dir,
        hurt=written(f"u-0/{FIRST}.log.deleted", ""),
    ),
    Row(name="metadata-healthy", codes=frozenset(), base=metadata_dir, hurt=lambda dirs: os.utime(dirs[0])),
]
