"""Metadata that is older than logs: leaders, or ids of producers, that it knows nothing of; and older marks.

A replica is led in an epoch, and a producer is given its id, only after the controllers have agreed on it. So
a backup was restored, of the metadata or of one of the node's dirs, and what else is missing there nobody can
tell. Seen on 3.7.2, 3.9.2 and 4.3.1: ids are given out again, and `ProducerStateManager` takes the first
batch of the new producer for the last one of the old, if as many records: acknowledged, and not written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from segmend.formats.offset_checkpoint import HIGH_WATERMARK
from segmend.kernel.scan import iter_batches
from segmend.logdir.file_system import FileStat, Unreadable
from segmend.logdir.files import FileEntry
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.second_looks import look_again
from segmend.node.metadata_image import MetadataImage
from segmend.wording import plural

Name = tuple[str, int]
DOUBTFUL_MARK = (
    "{}: whether it had offsets {} to {}: the high watermark says so, but it is older than this directory, "
    "and may be that of a topic of this name before"
)
OWN = (
    "its metadata is older than its own logs ({} had leaders that it does not know): if one of its dirs was "
    "restored from a backup, nobody can tell what else is missing there"
)
IDS = (
    "{} had producers whose ids its metadata has yet to give out: to a new producer of such an id the first "
    "records are refused, or acknowledged and not written"
)

UNTOLD = "after a kill, nothing on them tells a copy of one of some seconds before"
"""Of log dirs without the marker of a clean stop: no metadata tells within `broker.session.timeout.ms`."""


def newest_epoch(partition: PartitionDir) -> int:
    """The newest leader epoch of a log by its own file, -1 without one; it need not have written in it."""
    epochs = partition.leader_epochs.value
    return -1 if epochs is None else max((each.epoch for each in epochs.entries), default=-1)


def newest_of_topic(partition: PartitionDir, image: MetadataImage | None) -> int:
    """The same of leaders of this topic: files from before the topic was made are of one of its name before.

    So it is after a restore and `plan restamp`; what the controller's clock does not tell, counts. A start as
    a follower writes the old epochs anew (seen on 4.3.1): then a log tells that took nothing since.
    """
    newest, file = newest_epoch(partition), partition.leader_epochs.entry
    created = -1 if image is None else image.created.get(partition.topic_id or "", -1)
    if newest < 0 or file is None or created < 0:
        return newest
    logs = [status for each in partition.segments if (status := _status(each.log)) is not None]
    written = max((each.mtime_ns for each in logs if each.size), default=None)
    own = _status(file)
    times = [time for time in (None if own is None else own.mtime_ns, written) if time is not None]
    return -1 if times and min(times) < created * 1_000_000 else newest


def _status(entry: FileEntry | None) -> FileStat | None:
    """None also of a file that a running broker has taken away meanwhile."""
    try:
        return None if entry is None else entry.stat()
    except Unreadable:
        return None


def ahead(epochs: Mapping[Name, int], image: MetadataImage) -> frozenset[Name]:
    """The logs that are newer than what the metadata knows of them."""
    known = {
        (image.names[topic_id], number): leader.epoch
        for (topic_id, number), leader in image.leaders.items()
        if topic_id in image.names
    }
    return frozenset(name for name, epoch in epochs.items() if epoch > known.get(name, epoch))


def given_again(producers: Mapping[Name, int], image: MetadataImage) -> frozenset[Name]:
    """The logs that know a producer whose id may be given to another one; -1 is none."""
    return frozenset(name for name, newest in producers.items() if newest >= image.next_producer_id)


def mark_is_older(partition: PartitionDir, image: MetadataImage | None) -> bool | None:
    """Whether the high watermarks were written before there was this topic: its line is of another one.

    So it is within 5 s after a topic was made anew under its name. Both the controller's clock and that of
    the files must say so; where a copy made files younger, the line counts. None: the controller's is not
    known, and no record is older either; nor is another file, where none was made with the topic (up to 2.7).
    """
    marks, made = partition.log_dir.entry(HIGH_WATERMARK), partition.partition_metadata.entry
    if marks is None:
        return False
    files = [*partition.files.values()] if made is None else [made]
    if not files or marks.stat().mtime_ns >= min(each.stat().mtime_ns for each in files):
        return False
    created = -1 if image is None else image.created.get(image.ids.get(partition.topic, ""), -1)
    if created < 0:
        first = _first_record(partition)
        return None if first is None or first > marks.stat().mtime_ns else False
    return marks.stat().mtime_ns < created * 1_000_000


def _first_record(partition: PartitionDir) -> int | None:
    """The time of a log's first batch (ns); 0 without a log, which a new topic has, None without a batch."""
    first = min(partition.segments, key=lambda each: each.base_offset, default=None)
    if first is None or first.log is None:
        return 0
    try:
        with look_again(first.log) as reader:
            batch = next(iter_batches(reader), None)
    except Unreadable:
        return None
    return None if batch is None else batch.max_timestamp * 1_000_000


def told(words: str, names: Collection[Name]) -> Iterator[str]:
    """One sentence for all of them, if there are any."""
    if names:
        others = f" and {plural(len(names) - 1, 'other')}" if len(names) > 1 else ""
        topic, number = min(names)
        yield words.format(f"{topic}-{number}{others}")
