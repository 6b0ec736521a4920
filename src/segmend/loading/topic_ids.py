"""Topic ids in partition.metadata that contradict each other, where only ZooKeeper has the right ones."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from segmend.broker.strays import COMPARES_IDS
from segmend.loading.replicas import Loaded
from segmend.loading.values import PartitionOutcome, Service
from segmend.logdir.release import Release

_DIFFERS: Final = (
    "{}: whether it is served: other partitions of the topic have another id in partition.metadata, and "
    "ZooKeeper has the right one"
)
_SHARED: Final = "{}: whether it is served: its topic id is that of {}, too, and ZooKeeper has the right ones"


def doubtful_ids(loaded: Sequence[Loaded], release: Release) -> Iterator[str]:
    """The replicas of which a leader request with the right id would be refused, if theirs is the wrong one.

    The majority of a topic is taken to be right, of a tie nobody; what the files do not show is not told.
    """
    if not COMPARES_IDS.of(release):
        return
    by_topic: dict[str, list[tuple[str, str]]] = defaultdict(list)
    topics: dict[str, set[str]] = defaultdict(set)
    for one in loaded:
        outcome = one.outcome
        if not isinstance(outcome, PartitionOutcome) or outcome.outcome != Service.SERVED:
            continue
        partition = one.dir_state.log_dir.partition(outcome.name)
        if partition is not None and partition.topic_id is not None:
            by_topic[outcome.topic].append((one.path, partition.topic_id))
            topics[partition.topic_id].add(outcome.topic)
    for topic, paths in by_topic.items():
        counts = Counter(topic_id for _, topic_id in paths)
        (right, most), *others = counts.most_common(2)
        tie = bool(others) and others[0][1] == most
        for path, topic_id in paths:
            if tie or topic_id != right:
                yield _DIFFERS.format(path)
            elif len(topics[topic_id]) > 1:
                yield _SHARED.format(path, min(topics[topic_id] - {topic}))
