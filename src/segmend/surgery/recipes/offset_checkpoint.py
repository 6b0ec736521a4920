"""One of the four offset checkpoints of a log dir, from the offsets that a plan found.

Arguments: `entries`, rows of topic, partition, offset.

A broker writes the lines in the order of a hash map of its partitions, which has no meaning; here
they keep the order in which they are given.
"""

from __future__ import annotations

from segmend.formats import offset_checkpoint
from segmend.formats.offset_checkpoint import CheckpointEntry, OffsetCheckpoint
from segmend.json_values import arrays, number, text
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release
from segmend.surgery.derive import Arguments


def build(_log_dir: LogDir, _partition: str, arguments: Arguments, _release: Release) -> bytes:
    lines = ({"topic": topic, "partition": n, "offset": at} for topic, n, at in arrays(arguments, "entries"))
    entries = tuple(
        CheckpointEntry(text(each, "topic"), number(each, "partition"), number(each, "offset"))
        for each in lines
    )
    return offset_checkpoint.render(OffsetCheckpoint(entries=entries))
