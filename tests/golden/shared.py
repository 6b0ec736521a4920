"""Golden directories for the tests: each unpacked once for all processes of a run, to be read only."""

import fcntl
from pathlib import Path

from tests.golden.unpack import unpack

GOLDEN = Path(__file__).parent


class Shared:
    """Where they lie in this run; `conftest` says it before the first test."""

    root: Path


def golden(name: str) -> Path:
    """The root of an unpacked golden directory. Read it only: all tests share it.

    Who writes into it is not told from here which test it was, but no longer goes unseen.
    """
    target = Shared.root / name
    with open(Shared.root / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            part = Shared.root / f"{name}.part"
            unpack(GOLDEN / f"{name}.tar.xz", part)
            part.rename(target)
            (Shared.root / f"{name}.unpacked").touch()
    return target


def is_golden(path: Path) -> bool:
    """Whether it lies in one of them."""
    root = getattr(Shared, "root", None)
    return root is not None and root in path.parents


def written() -> list[Path]:
    """What in them is younger than they are."""
    stamps = {each.stem: each.stat().st_mtime_ns for each in Shared.root.glob("*.unpacked")}
    files = ((Shared.root / name, path) for name in stamps for path in (Shared.root / name).rglob("*"))
    return [path for whole, path in files if path.lstat().st_mtime_ns > stamps[whole.name]]
