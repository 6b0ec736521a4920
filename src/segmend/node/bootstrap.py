"""bootstrap.checkpoint: the features with which `kafka-storage format` begins a cluster, read at every start.

Follows `BootstrapDirectory.readFromBinaryFile` and `BatchFileReader`, which compares no checksums.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from segmend.formats.record import iter_records
from segmend.kernel.scan import iter_batches
from segmend.logdir.file_system import Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.second_looks import look_again
from segmend.topics.metadata import decode

_LIMIT: Final = 1 << 20


def bootstrap_level(file: FileEntry) -> int | None:
    """The level of `metadata.version` in it; None where the process ends over the file."""
    level = None
    try:
        with look_again(file) as reader:
            for batch in iter_batches(reader):
                if batch.is_control or batch.size > _LIMIT:
                    continue
                for record in iter_records(reader.read(batch.size, batch.position), batch, [], limit=_LIMIT):
                    level = _level(record.value) or level
    except Unreadable:
        return None
    return level


def _level(value: bytes | None) -> int | None:
    decoded = {} if value is None else decode(None, value)["value"]
    data = decoded.get("data")
    if not isinstance(data, Mapping) or data.get("name") != "metadata.version":
        return None
    level = data.get("featureLevel")
    return level if isinstance(level, int) else None
