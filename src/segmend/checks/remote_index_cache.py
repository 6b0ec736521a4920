"""The cache of remote indexes cannot be loaded."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.serving import REMOTE_INDEX_CORRUPT
from segmend.findings import Finding, Where
from segmend.formats import offset_index, time_index, txn_index
from segmend.formats.java_number import parse_long
from segmend.formats.names import REMOTE_INDEX_CACHE
from segmend.logdir.file_system import FOLDERS
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir

from . import remedies
from .context import DirContext
from .manual import ERROR, REFUSES, Code, Level, Page, Scope

CODES = (
    Code("K16", ERROR,
         "an index in remote-log-index-cache is corrupt: a broker with tiered storage does not start",
         REFUSES),
)  # fmt: skip
PAGE = Page(
    meaning="""
        With tiered storage a broker keeps the indexes of remote segments it has used in
        `remote-log-index-cache`. It checks them all while it starts.""",
    broker="""
        With remote storage on, the start fails with a CorruptIndexException. Without, it ignores the
        directory.""",
    advice="Remove the whole cache directory: everything in it is fetched again when needed.",
    kafka="RemoteIndexCache.init, KIP-405 (3.6).",
)
SCOPE = Scope.DIR
LEVEL = Level.STARTUP


def run(log_dir: LogDir, context: DirContext) -> Iterator[Finding]:
    """The sanity check of each index, as a broker makes it; one finding is enough to clear the cache."""
    if log_dir.entries.get(REMOTE_INDEX_CACHE) not in FOLDERS:
        return
    cache = PartitionDir.forced(log_dir, REMOTE_INDEX_CACHE)
    for name, entry in sorted(cache.files.items()):
        base = parse_long(name.partition("_")[0])
        if base is None or entry.type != "file":
            continue
        reason = _reason(name, base, entry.read())
        if reason:
            yield context.finding(
                "K16",
                reason,
                Where(f"{REMOTE_INDEX_CACHE}/{name}"),
                broker_says=REMOTE_INDEX_CORRUPT.format(reason),
                remedy=remedies.set_aside(context.path, REMOTE_INDEX_CACHE),
            )
            return


def _reason(name: str, base: int, data: bytes) -> str | None:
    if name.endswith(offset_index.SUFFIX):
        return _odd_length(data, offset_index.ENTRY_SIZE) or _last_offset(data[-8:-4], base)
    if name.endswith(time_index.SUFFIX):
        return _odd_length(data, time_index.ENTRY_SIZE) or _times(data) or _last_offset(data[-4:], base)
    if name.endswith(txn_index.SUFFIX):
        entries = txn_index.parse(data)[0].entries
        if any(entry.last_offset < base for entry in entries):
            return f"an aborted transaction ends before the base offset {base}"
    return None


def _odd_length(data: bytes, unit: int) -> str | None:
    if len(data) % unit:
        return f"found {len(data)} bytes which is neither positive nor a multiple of {unit}"
    return None


def _last_offset(field: bytes, base: int) -> str | None:
    relative = int.from_bytes(field, "big", signed=True)
    return f"the last offset is {base + relative}, below the base offset {base}" if relative < 0 else None


def _times(data: bytes) -> str | None:
    first, last = (int.from_bytes(part, "big", signed=True) for part in (data[:8], data[-12:-4]))
    return f"the last timestamp {last} is below the first {first}" if last < first else None
