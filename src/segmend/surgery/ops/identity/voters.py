"""The directory id under which a node votes in a KRaft quorum (KIP-853, `kraft.version` 1).

The voter set names each voter by its node id and the directory id of its `metadata.log.dir`
(`VotersRecord`). A node whose dir has another id is no voter: a lone one then never gets a leader.
"""

from __future__ import annotations

from collections.abc import Iterator

from segmend.checks.cluster import DIRECTORY
from segmend.formats import control
from segmend.formats.record import iter_records
from segmend.kernel.scan import iter_batches
from segmend.logdir.file_system import Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.tree import LogDir


def voter_directory_id(log_dir: LogDir, node_id: int | None) -> str | None:
    """The id that the metadata log in this dir has for the node, as said last.

    None without such a log, with a voter set of node ids only, or for a node that does not vote.
    """
    partition = log_dir.partition(DIRECTORY) if DIRECTORY in log_dir.entries else None
    if partition is None:
        return None
    files = [*partition.kraft_snapshots[-1:], *(segment.log for segment in partition.segments)]
    found = None
    for voters in (row for file in files if file is not None for row in _voter_sets(file)):
        found = next((row.directory_id for row in voters.voters if row.voter_id == node_id), None)
    return found


def _voter_sets(file: FileEntry) -> Iterator[control.Voters]:
    """What is readable of them, in order."""
    try:
        with file.reader() as reader:
            for batch in iter_batches(reader, crc=True):
                if batch.is_control and batch.size <= control.MAX_VALUE_SIZE:
                    for record in iter_records(reader.read(batch.size, batch.position), batch, []):
                        value = control.parse(record.key, record.value)[0].value
                        if isinstance(value, control.Voters):
                            yield value
    except Unreadable:
        return
