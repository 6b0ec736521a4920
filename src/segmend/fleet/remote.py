"""What a path of the fleet is read from: the one door to object stores.

obstore brings a Rust runtime with threads, and PySpark's daemon forks: so it is imported in
the process that reads, and never where only local disks are.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from segmend.errors import MissingExtra, UsageError
from segmend.logdir import disk
from segmend.logdir.file_system import Files

if TYPE_CHECKING:
    from segmend.fleet.object_store import ObjectStore

SCHEMES = ("s3", "s3a", "gs", "az", "abfs", "abfss", "hdfs")


def files_of(path: str) -> Files:
    """The object store of a path such as s3://bucket/broker-1, this machine's disk for any other.

    Raises `UsageError` for a scheme that nothing reads, `MissingExtra` without the extra that reads it.
    """
    scheme, separator, _ = path.partition("://")
    return _store(scheme) if separator else disk


def store_of(path: str) -> ObjectStore:
    """The object store of such a path, which can also be written to; raises as `files_of`."""
    return _store(path.partition("://")[0])


@contextmanager
def listed_once(paths: Iterable[str]) -> Iterator[None]:
    """While a read of these is planned: the object stores among them list each directory once."""
    with ExitStack() as stack:
        for scheme in {path.partition("://")[0] for path in paths if "://" in path}:
            stack.enter_context(_store(scheme).listed_once())
        yield


@functools.cache
def _store(scheme: str) -> ObjectStore:
    """One a process, for its connections and listings."""
    if scheme not in SCHEMES:
        raise UsageError(f"{scheme}:// cannot be read; there are {', '.join(SCHEMES)} and plain paths")
    if find_spec("obstore") is None:
        raise MissingExtra(f"{scheme}:// needs obstore", "fleet")
    module, name = ("hdfs", "Hdfs") if scheme == "hdfs" else ("object_store", "ObjectStore")
    store: ObjectStore = getattr(import_module(f"segmend.fleet.{module}"), name)()
    return store


def forget() -> None:
    """Connect anew from here on: the environment names another endpoint, or other credentials."""
    _store.cache_clear()
