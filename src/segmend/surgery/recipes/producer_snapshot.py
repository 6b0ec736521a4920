"""`.snapshot`: what is known of each producer before an offset, replayed from the batches.

Arguments: `offset`, and `snapshot`, the offset of an older snapshot to begin with (null: nothing
was known before the first segment).

The rows come in the order of the broker's hash map, which has no meaning; Kafka up to 3.4 is
taken for the build of its time (Scala 2.12, 2.13 from 2.6 on). A live broker's snapshot
differs where a producer expired (producer.id.expiration.ms), and where the cleaner removed its
batches from the log afterwards.
"""

from __future__ import annotations

from typing import Final

from segmend.broker.rule import new_in
from segmend.json_values import number
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release
from segmend.surgery.derive import Arguments
from segmend.surgery.derive.file_bytes import producer_snapshot_of
from segmend.surgery.derive.sources import data_timestamps, partition_of, producers_before, snapshot_in

MARKER_TIMES: Final = new_in("ProducerStateEntry.lastTimestamp: that of a marker too, 2.4.1", (2, 4, 1))


def build(log_dir: LogDir, partition: str, arguments: Arguments, release: Release) -> bytes:
    """See the module; raises `SegmendError` without the snapshot to begin with, `Unreadable`."""
    partition_dir = partition_of(log_dir, partition)
    states = producers_before(partition_dir, number(arguments, "offset"), snapshot_in(arguments))
    if not MARKER_TIMES.of(release):
        # The timestamp of the last data batch, where a marker may have come after it.
        marked = [state for state in states if state.coordinator_epoch >= 0]
        times = data_timestamps(partition_dir, marked) if marked else {}
        states = tuple(
            state._replace(timestamp=times.get(state.producer_id, state.timestamp)) for state in states
        )
    return producer_snapshot_of(states, release)
