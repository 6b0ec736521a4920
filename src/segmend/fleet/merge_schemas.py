"""What replicas have and what a merge makes of them, as tables: see `segmend.spark.merging`."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

RUN: Final = pa.struct(
    [
        ("first_offset", pa.int64()),
        ("last_offset", pa.int64()),
        ("epoch", pa.int32()),
        ("file", pa.string()),
        ("first_position", pa.int64()),
        ("end_position", pa.int64()),
        ("batches", pa.int64()),
        ("records", pa.int64()),
    ]
)
SOUND_RUNS: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("number", pa.int32()),  # of the replica among those of its partition
        ("broker", pa.int32()),  # node id; null: its disk does not say
        ("dir", pa.string()),  # the log dir
        ("dir_name", pa.string()),
        ("log_start_offset", pa.int64()),
        ("log_end_offset", pa.int64()),
        ("high_watermark", pa.int64()),  # null: its disk does not say
        ("damaged", pa.int32()),  # places that are no sound batch
        ("compacted", pa.bool_()),  # whether the topic is, by a metadata log; null: none tells
        ("runs", pa.list_(pa.field("element", RUN))),
        ("replica", pa.binary()),  # all of it, for `merge` of this version of segmend
    ]
)
"""One row a replica."""
MERGED_RANGES: Final = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("outcome", pa.string()),  # taken | missing | diverged | conflict | doubt | assumed | refused
        ("first_offset", pa.int64()),
        ("last_offset", pa.int64()),
        ("broker", pa.int32()),  # whose bytes; null: nobody's, or its disk does not say
        ("dir", pa.string()),
        ("unacknowledged", pa.bool_()),  # above the newest high watermark known, and on one replica only
        ("why", pa.string()),  # of a divergence its epoch, of a conflict what decided; else the words
    ]
)
"""One row a range of the merged log, and one for each thing that is not as it should be."""
