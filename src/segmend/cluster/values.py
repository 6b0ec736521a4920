"""What a forecast of a cluster says: plain values, and their `--json` objects (keys as in the contract)."""

from __future__ import annotations

from enum import StrEnum

from segmend.frozen import frozen
from segmend.loading import BrokerOutcome, Extent, Service
from segmend.loading.values import Concerned

Name = tuple[str, int]
"""Topic and partition."""


@frozen
class QuorumVoter:
    """One voter of the metadata quorum; its copy of the log ends at `end` in `epoch`, if it is known.

    `older` is how it is seen that its files are of an older copy of it, None where nothing tells that; `home`
    the log dir that has its metadata.
    """

    node_id: int
    up: bool
    end: int | None = None
    epoch: int | None = None
    reason: str | None = None
    older: str | None = None
    home: str | None = None

    def to_json(self) -> dict[str, object]:
        return {
            "node_id": self.node_id,
            "up": self.up,
            "log_end_offset": self.end,
            "epoch": self.epoch,
            "reason": self.reason,
            "older_copy": self.older,
        }


@frozen
class Quorum:
    """The metadata quorum that comes up; without `voters` nothing tells of one.

    `committed` is what a majority has of the newest known log. `blank` are those that can be elected
    without a log. `twice` is an epoch that had a leader and may get another one, with the voters that have
    forgotten it, None without.
    """

    voters: tuple[QuorumVoter, ...]
    needed: int
    leaders_possible: tuple[int, ...]
    committed: int | None
    blank: tuple[int, ...] = ()
    reason: str | None = None
    twice: tuple[int, tuple[int, ...]] | None = None

    @property
    def voters_up(self) -> list[int]:
        return [voter.node_id for voter in self.voters if voter.up]

    @property
    def older(self) -> dict[int, str]:
        """The voters whose files are known to be of an older copy, and how that is seen."""
        return {voter.node_id: voter.older for voter in self.voters if voter.older is not None}

    @property
    def comes_up(self) -> bool:
        """Whether one of the voters can be elected."""
        return bool(self.leaders_possible)

    def to_json(self) -> dict[str, object]:
        return {
            "type": "quorum",
            "outcome": "unknown" if not self.voters else "comes-up" if self.comes_up else "does-not",
            "reason": self.reason,
            "voters": [voter.to_json() for voter in self.voters],
            "voters_up": self.voters_up,
            "needed": self.needed,
            "leaders_possible": list(self.leaders_possible),
            "committed_offset": self.committed,
            "led_twice": None if self.twice is None else self.twice[0],
        }


@frozen
class NodeOutcome:
    """The start of one node, beside its fellows; `deleted` are records that go within minutes after it.

    `undue` has those of them that are younger than the limit by which they go; `may_end` says why its
    process may end once it and others are up.
    """

    node_id: int
    dirs: tuple[str, ...]
    clean_shutdown: bool
    broker: BrokerOutcome
    deleted: int = 0
    undue: tuple[str, ...] = ()
    may_end: tuple[str, ...] = ()

    @property
    def unknown(self) -> tuple[str, ...]:
        """What is not known of it, whoever else is up."""
        return *self.broker.unknown, *self.undue, *self.may_end

    def to_json(self) -> dict[str, object]:
        return {
            **self.broker.to_json(),
            "unknown": list(self.unknown),
            "node_id": self.node_id,
            "dirs": list(self.dirs),
            "clean_shutdown": self.clean_shutdown,
            "deleted_later": self.deleted,
        }


@frozen
class ReplicaCopy:
    """One replica as it will be; `complete` says that it has all that is known to be committed.

    `loses` says that its start takes something from readers, counted in records or not; `unseen` that there
    was no directory of it, and nothing tells whether it had records; `not_reached` that its node does not
    get to it behind one whose dir failed. `homeless` says that the metadata has it in a log dir which is none
    of its node's: it may lead, or nobody. `concerns` has whose state its start takes.
    """

    node_id: int
    dir: str | None
    outcome: Service
    after: Extent
    records_lost: int = 0
    loses: bool = False
    complete: bool = False
    unseen: bool = False
    not_reached: bool = False
    homeless: bool = False
    reason: str | None = None
    concerns: Concerned | None = None

    @property
    def serves(self) -> bool:
        return self.outcome in (Service.SERVED, Service.EMPTY)

    def to_json(self) -> dict[str, object]:
        return {
            "node_id": self.node_id,
            "dir": self.dir,
            "outcome": self.outcome,
            "reason": self.reason,
            "log_start_offset": self.after.log_start_offset,
            "log_end_offset": self.after.log_end_offset,
            "records_lost": self.records_lost,
            "complete": self.complete,
            "concerns": None if self.concerns is None else self.concerns.to_json(),
        }


class Prospect(StrEnum):
    """What becomes of a partition once the nodes are up."""

    LED = "led"
    AT_RISK = "at-risk"
    LOSES = "loses"
    LEADERLESS = "leaderless"
    UNKNOWN = "unknown"


WORST = (Prospect.LOSES, Prospect.LEADERLESS, Prospect.AT_RISK, Prospect.UNKNOWN, Prospect.LED)
"""The worst first."""


@frozen
class Leadership:
    """Who can lead a partition, and what they have of it.

    `in_sync` are the ISR and the eligible leader replicas (KIP-966) by the metadata. `at-risk` can be led by
    a copy that lacks what another one has, which is then cut. `order_helps` says that the others lead if they
    are started first. `min_insync` is how many in-sync replicas acks=all needs; `mark_waits` says that with
    fewer the high watermark does not move either. `ends_on` are its replicas once a reassignment that goes on
    is done: those that it takes away are deleted then, and one of the others leads. `perhaps` are nodes that
    may make a replica anew whose log dir failed or is gone, and be in sync then. `may_end` are nodes that may
    end over it, with why.
    """

    topic: str
    partition: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...] | None
    elr: tuple[int, ...] | None
    leaders_possible: tuple[int, ...] | None
    in_sync_complete: tuple[int, ...]
    copies: tuple[ReplicaCopy, ...]
    outcome: Prospect
    reason: str | None = None
    records_at_risk: int = 0
    order_helps: bool = True
    min_insync: int = 1
    mark_waits: bool = False
    ends_on: tuple[int, ...] = ()
    perhaps: tuple[int, ...] = ()
    may_end: tuple[tuple[int, str], ...] = ()

    @property
    def serving(self) -> int:
        """How many replicas are in sync once those that come up have caught up."""
        here = (copy for copy in self.copies if copy.node_id in self.ends_on or not self.ends_on)
        return sum(copy.serves or copy.not_reached or copy.homeless for copy in here)

    @property
    def moves(self) -> bool:
        """Whether a reassignment goes on and takes replicas away."""
        return bool(self.ends_on and self.leaders_possible) and set(self.ends_on) != set(self.replicas)

    @property
    def refuses_writes(self) -> bool:
        """Whether a leader refuses acks=all for good, until more nodes come up (NotEnoughReplicas)."""
        return bool(self.leaders_possible) and self.serving < self.min_insync

    @property
    def withholds(self) -> bool:
        """Whether consumers get nothing above the high watermark that the leader starts with, nor its end."""
        return self.refuses_writes and self.mark_waits

    @property
    def in_sync(self) -> frozenset[int]:
        """The nodes that may be elected without loss, as the controller believes."""
        return frozenset(self.isr or ()) | frozenset(self.elr or ())

    def to_json(self) -> dict[str, object]:
        return {
            "type": "partition",
            "topic": self.topic,
            "partition": self.partition,
            "outcome": self.outcome,
            "reason": self.reason,
            "replicas": list(self.replicas),
            "isr": None if self.isr is None else list(self.isr),
            "elr": None if self.elr is None else list(self.elr),
            "leaders_possible": None if self.leaders_possible is None else list(self.leaders_possible),
            "in_sync_complete": list(self.in_sync_complete),
            "records_at_risk": self.records_at_risk,
            "order_helps": self.order_helps,
            "min_insync_replicas": self.min_insync,
            "refuses_acks_all": self.refuses_writes,
            "withholds_reads": self.withholds,
            "perhaps_made_anew": list(self.perhaps),
            "reassigned_to": list(self.ends_on) if self.moves else None,
            "copies": [copy.to_json() for copy in self.copies],
        }


@frozen
class ClusterOutcome:
    """All of it; `start_order` are the nodes in steps, each started when the one before serves.

    `all_whole` says that no node loses anything of its own, whatever others have; `deletes` that some delete
    records within minutes after the start, as their settings are.
    """

    nodes: int
    partitions: int
    fates: dict[Prospect, int]
    start_order: tuple[tuple[int, ...], ...]
    order_cannot_help: int
    all_start: bool
    all_whole: bool
    quorum_comes_up: bool
    unknown: tuple[str, ...]
    assumed: tuple[str, ...]
    refusing: int = 0
    deletes: bool = False

    @property
    def is_well(self) -> bool:
        """Whether nothing is lost, and every partition takes every write."""
        return self.nothing_lost and not self.refusing

    @property
    def nothing_lost(self) -> bool:
        """Whether it can be said that the starts take nothing from anybody."""
        led = self.fates.get(Prospect.LED, 0) == self.partitions
        return self.all_start and self.all_whole and self.quorum_comes_up and led and not self.unknown

    def to_json(self) -> dict[str, object]:
        return {
            "type": "cluster",
            "outcome": "comes-up" if self.quorum_comes_up and self.all_start else "does-not",
            "nodes_whole": self.all_whole,
            "nodes": self.nodes,
            "partitions": self.partitions,
            "fates": {fate.value: self.fates.get(fate, 0) for fate in Prospect},
            "refuse_acks_all": self.refusing,
            "start_order": [list(step) for step in self.start_order],
            "order_cannot_help": self.order_cannot_help,
            "unknown": list(self.unknown),
            "assumed": list(self.assumed),
        }
