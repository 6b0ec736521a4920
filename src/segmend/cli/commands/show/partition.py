"""`segmend show PARTITION_DIR`: segments and the other files of one partition."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from segmend.cli.output import emit_asked, style
from segmend.formats import epoch_checkpoint, partition_metadata, quorum_state
from segmend.logdir import disk
from segmend.logdir.file_system import Unreadable, or_none
from segmend.logdir.log_dir import LogDir
from segmend.logdir.overview import partition_overview, segment_overview
from segmend.logdir.partition_dir import PartitionDir
from segmend.report import segments
from segmend.report.segments import OtherFile, Partition

_KNOWN = {
    epoch_checkpoint.FILE_NAME: "where each leader epoch begins",
    partition_metadata.FILE_NAME: "the topic id",
    quorum_state.FILE_NAME: "the last vote of this KRaft node, and the leader it knows",
}


def open_partition(path: str) -> PartitionDir:
    """The partition directory at `path`, with its log dir as far as that can be read."""
    real = path.rstrip("/") or "/"
    parent, _, name = real.rpartition("/")
    if name in ("", ".", ".."):
        parent, _, name = disk.real_path(real).rpartition("/")
    parent = parent or ("/" if real.startswith("/") else ".")
    try:
        log_dir = LogDir.open(parent)
    except Unreadable:
        log_dir = LogDir(parent, {name: "dir"})
    return log_dir.partition(name) or PartitionDir.forced(log_dir, name)


def show_partition(path: str, args: argparse.Namespace) -> int:
    partition = open_partition(path)
    if partition.unreadable is not None:
        raise partition.unreadable
    epochs = partition.leader_epochs.value
    page = Partition(
        overview=partition_overview(partition),
        segments=[segment_overview(segment) for segment in partition.segments],
        others=list(_others(partition)),
        epochs=[(entry.epoch, entry.start_offset) for entry in epochs.entries] if epochs else [],
    )
    emit_asked(args, segments.json_rows(page), segments.lines(page, style(args)))
    return 0


def _others(partition: PartitionDir) -> Iterator[OtherFile]:
    layout = partition.layout
    groups = (
        (
            [name for _, name in sorted(layout.snapshots.items())],
            "producer state up to the offset in its name",
        ),
        (sorted(layout.kraft_snapshots), "KRaft snapshot up to the offset in its name"),
        (layout.orphans, "index without its log: a broker deletes it"),
        (
            [name for _, name in sorted(layout.shadowed)],
            "unpadded: a broker takes its base and never reads it",
        ),
        ([name for _, name in sorted(layout.unpadded)], "unpadded name"),
        (sorted(layout.swap), "finished compaction: replaces segments at the next start"),
        (sorted(layout.cleaned), "unfinished compaction: deleted at the next start"),
        (sorted(layout.deleted), "scheduled for deletion: gone at the next start"),
        (sorted(layout.temporary), "left by an interrupted write"),
        (sorted(layout.unparsable), "a broker dies on this name"),
        (sorted(layout.foreign), "not Kafka's; ignored"),
        (sorted(layout.directories), "not a file; ignored"),
        (sorted(layout.dangling), "a link to nothing"),
    )
    for name in sorted(layout.known):
        yield OtherFile(name=name, size=_size(partition, name), meaning=_KNOWN[name])
    for names, meaning in groups:
        for name in names:
            yield OtherFile(name=name, size=_size(partition, name), meaning=meaning)


def _size(partition: PartitionDir, name: str) -> int | None:
    return or_none(disk.file_size, f"{partition.path}/{name}")
