"""All that a worker needs beside Python and Spark, in one archive: segmend and the packages it computes with.

Spark unpacks it beside each executor (`spark.archives`). It fits a Python of the same minor
version on the same kind of machine.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import tarfile
import time
from contextlib import suppress
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

import segmend
from segmend.errors import SegmendError

NAME: Final = "segmend_workers"
"""The directory that executors find it in."""

_KEPT: Final = 3
"""Each has 130 MB; who has more installations than this waits for theirs again and again."""
_FRESH: Final = ".new"
_HALF_SECONDS: Final = 600
"""So long nobody writes one."""

_ROOTS: Final = (
    "pyarrow", "numpy", "deltalake", "obstore", "crc32c", "cramjam", "isal", "lz4", "zstandard",
    "fastavro", "protobuf",
)  # fmt: skip
_PACKAGES: Final = ("segmend", "pyspark_segmend")
_LEFT_OUT: Final = ("tests", "include", "__pycache__", "src")
_NOT_CALLED: Final = (
    "_flight.", "libarrow_flight", "libarrow_python_flight", "_s3fs.", "libarrow_s3", "_cffi.",
)  # fmt: skip
"""Libraries of these packages that nothing of segmend calls: they would be unpacked beside each executor."""


def bundle_name() -> str:
    """Names what is in it: another one is made where anything of it is newer."""
    parts = [f"{each.metadata['Name']}-{each.version}" for each in _distributions()]
    for folder in _folders():
        files = sorted(folder.rglob("*.py")) + sorted(folder.rglob("*.so"))
        parts += [f"{file.name}-{file.stat().st_mtime_ns}" for file in files]
    digest = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
    python = f"py{sys.version_info[0]}.{sys.version_info[1]}"
    return f"segmend-workers-{python}-{platform.machine()}-{digest}.tar.gz"


def make_bundle(target: Path) -> None:
    """Write the archive, under its name only when it is whole; SegmendError if it cannot be written."""
    fresh = target.with_name(f"{target.name}.{os.getpid()}{_FRESH}")
    try:
        with open(fresh, "wb") as file, tarfile.open(fileobj=file, mode="w:gz", compresslevel=1) as archive:
            for each in _distributions():
                for name in each.files or ():
                    path = Path(str(name.locate()))
                    wanted = not set(_LEFT_OUT) & set(name.parts) and not name.name.startswith(_NOT_CALLED)
                    if wanted and ".." not in name.parts and path.is_file():
                        archive.add(path, str(name), recursive=False)
            for folder in _folders():
                for path in sorted(folder.rglob("*")):
                    if path.suffix in (".py", ".so"):
                        archive.add(path, str(path.relative_to(folder.parent)), recursive=False)
        fresh.replace(target)
    except OSError as error:
        raise SegmendError(f"{target}: {error.strerror or error}") from error
    finally:  # also of who pressed Ctrl-C
        with suppress(OSError):  # a name that is too long is none to remove, either
            fresh.unlink(missing_ok=True)


def kept_bundle(folder: Path) -> Path:
    """The archive in `folder`, made if it is not there; it is the newest now."""
    bundle = folder / bundle_name()
    try:
        os.utime(bundle)
    except FileNotFoundError:
        folder.mkdir(parents=True, exist_ok=True)
        make_bundle(bundle)
        keep_newest(folder)
    except OSError:  # as others may keep it for us
        pass
    return bundle


def keep_newest(folder: Path) -> None:
    """Drop archives of other installations, but for the newest, and halves whose writers were killed.

    They have names as `bundle_name` gives. Executors come for one as long as its session runs.
    """
    archives = sorted(folder.glob("segmend-workers-*.tar.gz"), key=lambda file: -file.stat().st_mtime_ns)
    dead = time.time() - _HALF_SECONDS
    halves = (each for each in folder.glob(f"segmend-workers-*{_FRESH}") if each.stat().st_mtime < dead)
    for old in (*archives[_KEPT:], *halves):
        old.unlink(missing_ok=True)


def _distributions() -> list[Distribution]:
    """The roots that are installed, and what they ask for."""
    distributions: dict[str, Distribution] = {}
    waiting = list(_ROOTS)
    while waiting:
        name = waiting.pop()
        if name in distributions:
            continue
        try:
            distributions[name] = distribution(name)
        except PackageNotFoundError:
            continue
        asked = distributions[name].requires or ()
        waiting += [_bare(each) for each in asked if "extra ==" not in each]
    return [distributions[name] for name in sorted(distributions)]


def _bare(requirement: str) -> str:
    """The name in front of versions and markers."""
    end = next((at for at, sign in enumerate(requirement) if not (sign.isalnum() or sign in "-_.")), None)
    return requirement[:end]


def _folders() -> list[Path]:
    home = Path(segmend.__file__).parent
    return [folder for name in _PACKAGES if (folder := home.parent / name).is_dir()]
