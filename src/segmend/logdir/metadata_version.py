"""The range of `metadata.version` that this node registered with, out of its copy of the metadata log.

Every KRaft node follows `__cluster_metadata`, so its own RegisterBroker or
RegisterController record is there, in the newest snapshot or in the log. The highest
metadata.version it supports tells its release exactly. Records are not decoded for this: the
bytes of such a record with our own node id and the feature's name are searched for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from segmend.logdir.file_system import Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.tree import LogDir

_SEARCHED = 16 << 20
_NEVER_REACHED = 500


def registered_metadata_version(log_dir: LogDir) -> int | None:
    """The highest `metadata.version` of the node's newest registration; None if there is none."""
    meta = log_dir.meta_properties.value
    if meta is None or meta.node_id is None:
        return None
    # Frame version 1, api key 0 or 27, a small version, then the node id (RegisterBrokerRecord.json).
    node = re.escape(meta.node_id.to_bytes(4, "big", signed=True))
    record = re.compile(
        rb"\x01[\x00\x1b][\x00-\x0f]" + node + rb".{0,4096}?\x11metadata\.version(..)(..)", re.DOTALL
    )
    for data in _newest_first(log_dir):
        for match in reversed(list(record.finditer(data))):
            low, high = (int.from_bytes(part, "big") for part in match.groups())
            if 0 < low <= high < _NEVER_REACHED:
                return high
    return None


def _newest_first(log_dir: LogDir) -> Iterator[bytes]:
    for partition in log_dir.partitions:
        if partition.kind != "cluster-metadata":
            continue
        logs = [segment.log for segment in reversed(partition.segments)]
        yield from map(_last_bytes, filter(None, logs[:2]))
        yield from map(_last_bytes, partition.kraft_snapshots[-1:])


def _last_bytes(file: FileEntry) -> bytes:
    try:
        with file.reader() as reader:
            return reader.read(_SEARCHED, max(0, reader.size - _SEARCHED))
    except Unreadable:
        return b""
