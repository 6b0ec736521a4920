"""Batches that end a transaction, as coordinators write them."""

import struct

from segmend.formats.build import BatchProducer, NewRecord, build_batch


def build_marker(
    *,
    offset: int,
    commit: bool,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int = 0,
    timestamp: int = 0,
    leader_epoch: int = 0,
) -> bytes:
    """The 78 bytes of a transaction marker."""
    key, value = struct.pack(">hh", 0, commit), struct.pack(">hi", 0, coordinator_epoch)
    return build_batch(
        [NewRecord(key=key, value=value, timestamp=timestamp)],
        base_offset=offset,
        producer=BatchProducer(producer_id, producer_epoch, transactional=True),
        is_control=True,
        leader_epoch=leader_epoch,
    )
