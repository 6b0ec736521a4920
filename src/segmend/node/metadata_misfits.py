"""What a release says of metadata records that it cannot read, or that do not fit those before them."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.gates import unknown_record
from segmend.broker.metadata_log import BROKEN_RECORD, ENDS_UNREAD, PASSED_OVER
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.metadata_log import MetadataLog


def passed_over(broker: BrokerDirs) -> str | None:
    """A record that cannot be read, where that ends nobody: what fits the others is not known then."""
    home, log = broker.metadata_dir, broker.own_metadata_log
    partition = None if home is None else home.cluster_metadata
    if partition is None or log is None or ENDS_UNREAD.of(broker.release):
        return None
    unread = (each for each in log.misfits if each.rule is ENDS_UNREAD)
    says = next((BROKEN_RECORD.format(each.offset, each.says) for each in unread), None)
    says = says or unknown_record(log.unread, broker.release)
    return None if says is None else f"{partition.path}: {PASSED_OVER.format(says)}"


def misfits(log: MetadataLog, broker: BrokerDirs) -> Iterator[str]:
    """What the release says of records that it cannot replay, and ends over."""
    for misfit in log.misfits if passed_over(broker) is None else ():
        if misfit.is_met(broker.release) and (broker.is_controller or not misfit.controllers):
            yield BROKEN_RECORD.format(misfit.offset, misfit.says)
    if log.misplaced:
        yield log.misplaced
