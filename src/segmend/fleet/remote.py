"""Mounts the object store when a path needs it, and only then.

obstore brings a Rust runtime with threads, and PySpark's daemon forks: so it is imported in
the process that reads, and never where only local disks are.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec

from segmend.errors import SegmendError, UsageError
from segmend.logdir import disk

SCHEMES = ("s3", "s3a", "gs", "az", "abfs", "abfss")
_attached: set[str] = set()


def attach(paths: Iterable[str]) -> None:
    """Make the object stores of `paths` readable in this process.

    Raises `UsageError` for a scheme that nothing reads, `SegmendError` without the extra that reads it.
    """
    for scheme in {path.partition("://")[0] for path in paths if "://" in path} - _attached:
        if scheme not in SCHEMES:
            raise UsageError(f"{scheme}:// cannot be read; there are {', '.join(SCHEMES)} and plain paths")
        if find_spec("obstore") is None:
            raise SegmendError(f"{scheme}:// needs the extra: pip install 'segmend[fleet]'")
        disk.mount(scheme, import_module("segmend.fleet.object_store").ObjectStore())
        _attached.add(scheme)
