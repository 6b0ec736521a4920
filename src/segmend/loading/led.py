"""Partitions that a broker does not get to because of one before them that it cannot lead.

Only those whose single replica is here are certain to be led by this node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from segmend.broker.failures import UNASSIGNED
from segmend.broker.leading import NOT_APPLIED, leading_order
from segmend.loading.replicas import Loaded
from segmend.loading.values import Effect, Extent, PartitionOutcome, Service
from segmend.node.metadata_image import MetadataImage


def without_the_unled(
    loaded: Sequence[Loaded], image: MetadataImage | None, node_id: int | None
) -> list[Loaded]:
    """The same, without service for all that comes after the first partition with a wrong topic id."""
    wrong = {_key(one.outcome) for one in loaded if image is not None and _is_wrong(one, image)}
    if image is None or not wrong:
        return list(loaded)
    mine: dict[str, list[int]] = {}
    for one in loaded:
        outcome = one.outcome
        if isinstance(outcome, PartitionOutcome) and image.alone(outcome.topic, outcome.partition):
            mine.setdefault(outcome.topic, []).append(outcome.partition)
    order = leading_order(mine, image.ids)
    first = min(order.index(key) for key in wrong)
    behind = {
        key: order[first]
        for key in order[first + 1 :]
        if image.directory(image.ids[key[0]], key[1], node_id) != UNASSIGNED
    }
    return [_unled(one, behind) for one in loaded]


def _key(outcome: object) -> tuple[str, int]:
    assert isinstance(outcome, PartitionOutcome)
    return outcome.topic, outcome.partition


def _is_wrong(loaded: Loaded, image: MetadataImage) -> bool:
    """Whether it ends the broker's way through the partitions that it leads."""
    outcome = loaded.outcome
    return (
        loaded.other_id
        and isinstance(outcome, PartitionOutcome)
        and image.alone(outcome.topic, outcome.partition)
    )


def _unled(loaded: Loaded, behind: dict[tuple[str, int], tuple[str, int]]) -> Loaded:
    outcome = loaded.outcome
    if not isinstance(outcome, PartitionOutcome) or _key(outcome) not in behind:
        return loaded
    if outcome.outcome not in (Service.SERVED, Service.EMPTY):
        return loaded
    topic, number = behind[_key(outcome)]
    reason = NOT_APPLIED.format(outcome.name, f"{topic}-{number}")
    effect = Effect(effect="partition-unserved", file=outcome.name, broker_says=reason)
    told = replace(
        outcome, after=Extent(), effects=(*outcome.effects, effect), outcome=Service.UNSERVED, reason=reason
    )
    return replace(loaded, outcome=told, later=())
