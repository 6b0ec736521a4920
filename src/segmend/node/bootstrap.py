"""bootstrap.checkpoint: the features with which `kafka-storage format` begins a cluster, read at every start.

Follows `BootstrapDirectory.readFromBinaryFile` and `BatchFileReader`, which compares no checksums.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from segmend.broker.metadata_log import NO_FEATURE_LEVEL, UNREADABLE_RECORD
from segmend.formats import control
from segmend.formats.damage import Damage
from segmend.formats.record import Record, iter_records
from segmend.kernel.scan import iter_batches
from segmend.logdir.file_system import Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.second_looks import look_again
from segmend.topics.metadata import decode

_LIMIT: Final = 1 << 20


def bootstrap_failure(file: FileEntry) -> str | None:
    """Why the process ends over the file: a record that it cannot read, or no level of `metadata.version`."""
    level, damages = None, list[Damage]()
    try:
        with look_again(file) as reader:
            for batch in iter_batches(reader):
                if batch.size > _LIMIT:
                    continue
                data = reader.read(batch.size, batch.position)
                for record in iter_records(data, batch, damages, limit=_LIMIT):
                    said = _of_control(record) if batch.is_control else _of_data(record)
                    if said is None:
                        return UNREADABLE_RECORD.format(record.offset)
                    level = _level(said) or level
                if damages:
                    return UNREADABLE_RECORD.format(batch.base_offset)
    except Unreadable:
        level = None
    return None if level is not None else NO_FEATURE_LEVEL.format(file.path)


def _of_data(record: Record) -> Mapping[str, object] | None:
    """What a record about the cluster says; None where it is none that is known."""
    value = decode(None, record.value)["value"]
    data = None if value is None else value.get("data")
    return data if isinstance(data, Mapping) else None


def _of_control(record: Record) -> Mapping[str, object] | None:
    """Nothing about the cluster; None where it is no control record of KRaft."""
    parsed, damages = control.parse(record.key, record.value)
    return None if damages or parsed.type in (control.ABORT, control.COMMIT) else {}


def _level(data: Mapping[str, object]) -> int | None:
    level = data.get("featureLevel") if data.get("name") == "metadata.version" else None
    return level if isinstance(level, int) else None
