"""Small file systems of their own, really mounted: root's."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

QUOTA = "btrfs with a quota"
TMPFS = "tmpfs"
MAKE = {
    "ext4": (64, ("mkfs.ext4", "-q", "-m", "0")), "xfs": (310, ("mkfs.xfs", "-q")),
    "btrfs": (150, ("mkfs.btrfs", "-q")), QUOTA: (150, ("mkfs.btrfs", "-q")),
}  # fmt: skip
"""The smallest of each in MiB, or nearly, and how it is made."""


def need_mount(kind: str, folder: Path) -> None:
    """Skip the test where this may not be mounted."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small file system")
    try:
        with mounted(kind, folder):
            pass
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no mount of {kind} here: {error}")


@contextmanager
def mounted(kind: str, folder: Path, at: Path | None = None, size: int | None = None) -> Iterator[Path]:
    """A small disk of its own, or of so many MiB, in the folder or at a directory that there is.

    Raises `OSError` or `CalledProcessError` where this may not be.
    """
    place, image = at or folder / f"the {kind}", folder / f"{kind}.image"
    place.mkdir(exist_ok=at is not None)
    if kind == TMPFS:
        of = ("-t", "tmpfs", "-o", f"size={size or 24}m", "tmpfs")
    else:
        smallest, make = MAKE[kind]
        with open(image, "wb") as file:
            file.truncate((size or smallest) << 20)
        subprocess.run([*make, image], check=True, capture_output=True)
        of = ("-o", "loop", str(image))
    subprocess.run(["mount", *of, place], check=True, capture_output=True)
    try:
        if kind == QUOTA:
            btrfs("quota", "enable", place)
            btrfs("subvolume", "create", place / "sub")
        disk = place / "sub" if kind == QUOTA else place
        if at is None:
            disk.chmod(0o777)
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)
        image.unlink(missing_ok=True)
        if at is None:
            place.rmdir()


def btrfs(*words: object) -> list[str]:
    """The lines that it says."""
    command = ["btrfs", *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
