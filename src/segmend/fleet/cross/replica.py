"""The replicas of one partition, side by side: what the cross checks are given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Literal

from segmend.findings import NOWHERE, Finding, Remedy, Severity, Where
from segmend.frozen import field, frozen

Difference = Literal["content", "epoch", "absent-here", "absent-there", "boundary"]


@frozen
class Divergence:
    """Where a replica first differs from its reference, from the bytes themselves.

    `position` and `file` are of the first batch that differs in this replica (None where
    it has none there).
    """

    offset: int
    difference: Difference
    reference: int
    file: str | None = None
    position: int | None = None
    detail: Mapping[str, int] = field(default_factory=dict)


@frozen
class ListedReplica:
    """One row of the `replicas` table, with the path of its log dir. None: the disk does not say."""

    broker: int
    dir: str
    dir_name: str
    topic: str
    partition: int
    topic_id: str | None
    log_start_offset: int | None
    high_watermark: int | None
    log_end_offset: int | None
    divergence: Divergence | None

    def finding(
        self,
        code: str,
        severity: Severity,
        message: str,
        where: Where = NOWHERE,
        *,
        broker_says: str | None = None,
        remedy: Remedy | None = None,
        **detail: object,
    ) -> Finding:
        """A finding in this replica's directory."""
        return Finding(
            code=code,
            severity=severity,
            message=message,
            dir=self.dir,
            topic=self.topic,
            partition=self.partition,
            file=where.file or self.dir_name,
            position=where.position,
            offset=where.offset,
            broker_says=broker_says,
            remedy=remedy,
            detail=detail,
        )


@frozen
class Cluster:
    """The brokers of one cluster that were audited, each with the paths of its log dirs.

    `unreadable` are log dirs of which nobody knows what is in them.
    """

    cluster_id: str | None
    brokers: Mapping[int, Sequence[str]]
    unreadable: AbstractSet[str] = frozenset()


@frozen
class Group:
    """The replicas of one partition, the reference first."""

    cluster: Cluster
    topic: str
    partition: int
    replicas: Sequence[ListedReplica]
    expected_replicas: int

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"

    @property
    def reference(self) -> ListedReplica:
        """The replica that would win an election among the files."""
        return self.replicas[0]

    @property
    def log_end_offset(self) -> int:
        return max((r.log_end_offset or 0 for r in self.replicas), default=0)

    @property
    def high_watermark(self) -> int | None:
        """The highest high watermark that any replica has recorded."""
        return max((r.high_watermark for r in self.replicas if r.high_watermark is not None), default=None)


def numbers(brokers: Sequence[int]) -> str:
    """`broker 3`, `brokers 1 and 2`."""
    names = [str(broker) for broker in brokers]
    if len(names) == 1:
        return f"broker {names[0]}"
    return f"brokers {', '.join(names[:-1])} and {names[-1]}"
