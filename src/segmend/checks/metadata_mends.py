"""The next command for a node's copy of the cluster's metadata: what `plan quorum` can do with what is there.

Not a check.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from segmend.findings import Remedy, Safety
from segmend.node.metadata_copy import MetadataCopy

from . import remedies

if TYPE_CHECKING:
    from segmend.node.broker_dirs import BrokerDirs

    from .context import PartitionContext

OTHER: Final = "--from OTHER_METADATA_DIR"
CONFIG: Final = "--config server.properties"
"""A human must say where these are."""


def mend(context: PartitionContext) -> Remedy:
    """What is damaged set aside where the rest covers it; else another node's copy; else what it costs."""
    copy, home = MetadataCopy.of(context.partition), context.dir.path
    best = copy.best
    if copy.has_all:
        return remedies.quorum(home)
    lost_is_known = best is None or best.position < copy.reached
    if not lost_is_known or not is_alone(context.broker_dirs):
        return remedies.quorum(home, *_to_restore(context), OTHER, safety=Safety.ADVICE)
    if best is None:
        return context.look()
    lost = max(copy.reached[1] - best.position[1], 1)
    return remedies.quorum(home, f"--accept-loss {lost}-records", safety=Safety.LOSSY)


def _to_restore(context: PartitionContext) -> Sequence[str]:
    """Who votes must be known where the votes are lost, too."""
    state = context.partition.quorum_state
    lost = state.value is None or state.damages
    return (CONFIG,) if lost and context.broker_dirs.voters is None else ()


def vote(context: PartitionContext) -> Remedy:
    """A quorum-state that cannot be read; others must be seen where they may know of a vote."""
    broker, home = context.broker_dirs, context.dir.path
    voters = broker.voters
    config = () if voters is not None and broker.given is None else (CONFIG,)
    if voters is not None and (broker.node_id not in voters or not broker.others):
        return remedies.quorum(home, *config, safety=Safety.ADVICE if config else Safety.SAFE)
    return remedies.quorum(home, *config, OTHER, safety=Safety.ADVICE)


def is_alone(broker: BrokerDirs) -> bool:
    log = broker.own_metadata_log
    registered = set() if log is None else log.image.registered
    return registered == {broker.node_id} and not broker.others
