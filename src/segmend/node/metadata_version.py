"""The highest `metadata.version` that this node registered with, out of its copy of the metadata log.

Every KRaft node follows `__cluster_metadata`, so its own RegisterBroker or RegisterController
record is there, in the newest snapshot or in the log, and tells its release exactly. Records
are not decoded for this: later releases have later versions of them, and behind damage they
count as well. The bytes of such a record with the node's id and the feature's name are searched for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from segmend.logdir.file_system import Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.second_looks import look_again

_SEARCHED: Final = 16 << 20
_NEVER_REACHED: Final = 500


def registered_metadata_version(partition: PartitionDir, node_id: int | None) -> int | None:
    """The highest version of the node's newest registration; None if there is none."""
    if node_id is None:
        return None
    # Frame version 1, api key 0 or 27, a small version, then the node id (RegisterBrokerRecord.json).
    node = re.escape(node_id.to_bytes(4, "big", signed=True))
    record = re.compile(
        rb"\x01[\x00\x1b][\x00-\x0f]" + node + rb".{0,4096}?\x11metadata\.version(..)(..)", re.DOTALL
    )
    for data in _newest_first(partition):
        for match in reversed(list(record.finditer(data))):
            low, high = (int.from_bytes(part, "big") for part in match.groups())
            if 0 < low <= high < _NEVER_REACHED:
                return high
    return None


def _newest_first(partition: PartitionDir) -> Iterator[bytes]:
    logs = [segment.log for segment in reversed(partition.segments)]
    yield from map(_last_bytes, filter(None, logs[:2]))
    yield from map(_last_bytes, partition.kraft_snapshots[-1:])


def _last_bytes(file: FileEntry) -> bytes:
    try:
        with look_again(file) as reader:
            return reader.read(_SEARCHED, max(0, reader.size - _SEARCHED))
    except Unreadable:
        return b""
