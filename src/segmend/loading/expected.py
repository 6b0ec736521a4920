"""Replicas that the metadata expects on this broker and that no current directory holds.

A `-future` directory in the assigned log dir takes the place (3.8+, KAFKA-16082,
`LogManager.recoverAbandonedFutureLogs`); otherwise the broker creates an empty log, unless a log
dir is offline and might hold it ("Skipping creation of log because there are potentially offline
log directories").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from segmend.broker.strays import PROMOTES_FUTURE
from segmend.loading.dirs import DirState
from segmend.loading.replicas import EMPTY, Loaded
from segmend.loading.values import Effect, Extent, PartitionOutcome, Service
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.metadata_image import MetadataImage

_NOTHING = Extent(log_start_offset=0, log_end_offset=0, segments=0, bytes=0)


def missing_replicas(
    broker: BrokerDirs, image: MetadataImage | None, loaded: Sequence[Loaded], states: Sequence[DirState]
) -> Iterator[Loaded]:
    """A line for each expected replica without a directory, as the broker then serves it."""
    node_id = broker.node_id
    if image is None:
        return
    known = {(one.outcome.topic, one.outcome.partition) for one in loaded if _is_current(one)}
    futures = {one.key[1:]: one for one in loaded if one.key is not None and one.key[0] == "future"}
    homes = {state.log_dir.directory_id: state for state in states}
    for (topic_id, partition), replicas in sorted(image.replicas.items()):
        topic = image.names.get(topic_id)
        if topic is None or node_id not in replicas or (topic, partition) in known:
            continue
        assigned = homes.get(image.directory(topic_id, partition, node_id))
        future = futures.get((topic, partition))
        if future is not None and assigned is future.dir_state and PROMOTES_FUTURE.of(broker.release):
            yield _promoted(future, topic, partition)
        elif states and not any(state.offline for state in states):
            yield _created(assigned or states[0], topic, partition)


def _is_current(loaded: Loaded) -> bool:
    return isinstance(loaded.outcome, PartitionOutcome)


def _promoted(future: Loaded, topic: str, partition: int) -> Loaded:
    outcome = PartitionOutcome(
        dir=future.dir_state.path, name=future.outcome.name, topic=topic, partition=partition,
        before=future.before, after=future.after or Extent(), effects=future.outcome.effects,
    )  # fmt: skip
    return _loaded(outcome, future.dir_state)


def _created(state: DirState, topic: str, partition: int) -> Loaded:
    name = f"{topic}-{partition}"
    says = f"Created log for partition {name} in {state.path}/{name}"
    effect = Effect(effect="log-recreated-empty", file=name, offset=0, broker_says=says)
    outcome = PartitionOutcome(
        dir=state.path, name=name, topic=topic, partition=partition, before=_NOTHING, after=EMPTY,
        effects=(effect,), outcome=Service.EMPTY, reason=says,
    )  # fmt: skip
    return _loaded(outcome, state)


def _loaded(outcome: PartitionOutcome, state: DirState) -> Loaded:
    return Loaded(
        outcome=outcome, dir_state=state, path=f"{state.path}/{outcome.name}", key=None, failure=None,
        open_transactions=False, before=outcome.before, after=outcome.after,
    )  # fmt: skip
