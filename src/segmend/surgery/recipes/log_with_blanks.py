"""A `.log` in which damaged ranges are empty batches, and all else is as it was.

Arguments: `base_offset`, and `blanks`, rows of `position`, `end` and the `base64` of the batch that
takes the place of these bytes, in order. The log is put together in memory.
"""

from __future__ import annotations

from base64 import b64decode

from segmend.json_values import number, objects, text
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release
from segmend.surgery.derive import Arguments
from segmend.surgery.derive.sources import log_of, partition_of, segment_of


def build(log_dir: LogDir, partition: str, arguments: Arguments, _release: Release) -> bytes:
    """See the module; raises `SegmendError` without the segment, `Unreadable`."""
    segment = segment_of(partition_of(log_dir, partition), number(arguments, "base_offset"))
    parts, at = [], 0
    with log_of(segment).reader() as reader:
        for blank in objects(arguments, "blanks"):
            parts += [reader.read(number(blank, "position") - at, at), b64decode(text(blank, "base64"))]
            at = number(blank, "end")
        parts.append(reader.read(reader.size - at, at))
    return b"".join(parts)
