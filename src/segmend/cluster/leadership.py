"""Who can lead each partition once the nodes are up, and whether that takes records from anybody."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from segmend.broker.election import (
    AHEAD,
    DEAD_LEAVE,
    ELR_FEATURE,
    ENDS_AHEAD,
    MARK_WAITS,
    MIN_INSYNC,
    MIN_INSYNC_CAPPED,
    RESTARTED,
    UNCLEAN_ELECTION,
    UNCLEAN_HEEDED,
    UNCLEAN_UNSET,
    Leaves,
    may_wait,
    may_wait_with_zookeeper,
    possible_leaders,
    reassigned,
)
from segmend.broker.leading import ENDS_AT_OFFLINE
from segmend.broker.strays import MADE_ANEW, UNLED_HERE
from segmend.cluster.values import Leadership, Name, Prospect, ReplicaCopy
from segmend.formats.config_values import boolean, integer
from segmend.frozen import field, frozen, replace
from segmend.loading import Extent, PartitionOutcome, Service
from segmend.logdir.release import Release
from segmend.node.metadata_image import MetadataImage, PartitionLeader

NOT_ACKNOWLEDGED = (
    "it was in sync, so acks=all acknowledged none of that, unless a disk lost what it had (a power cut, an "
    "older backup)"
)
LEFT_BEHIND = (
    "node {}, which does not come up, has more than those that do (up to offset {}), and loses it once it is "
    "back"
)
UNTIL = ", before it is elected anew (it is once the controller has missed it)"
UNSEEN = "node {} makes it anew, and nothing here tells whether it had records"


@frozen
class Outage:
    """What the starts of the nodes gave: why nodes are `down`, and who stopped `clean`.

    `marks` are the highest high watermarks that any checkpoint of the nodes tells: so much is committed.
    `settings` are the nodes' server.properties, `controllers` who can be the controller; with `zookeeper`
    each node that is up. `release` is the newest of `releases`, those of each node. `homeless` has of each
    node the replicas whose log dir it has no more, with the id of that. `away` are the ends of
    logs of nodes that are down.
    """

    release: Release
    down: Mapping[int, str]
    clean: frozenset[int]
    replicas: Mapping[Name, Mapping[int, PartitionOutcome]]
    marks: Mapping[Name, int]
    settings: Mapping[int, Mapping[str, str]] = field(default_factory=dict)
    controllers: tuple[int, ...] = ()
    releases: Mapping[int, Release] = field(default_factory=dict)
    zookeeper: bool = False
    homeless: Mapping[int, Mapping[Name, str]] = field(default_factory=dict)
    away: Mapping[Name, Mapping[int, int]] = field(default_factory=dict)

    def unknown(self) -> Iterator[Leadership]:
        """What there is of each partition, where nobody tells who is in sync."""
        for name, holders in sorted(self.replicas.items()):
            copies = self._copies(name, sorted(holders))
            yield Leadership(
                topic=name[0], partition=name[1], replicas=tuple(sorted(holders)), isr=None, elr=None,
                leaders_possible=None, in_sync_complete=(), copies=tuple(copies), outcome=Prospect.UNKNOWN,
            )  # fmt: skip

    def leaderships(self, image: MetadataImage) -> Iterator[Leadership]:
        """A line for each partition of the cluster, by name."""
        keys = (key for key in image.replicas if key[0] in image.names)
        halfway = self._ends_halfway(image)
        for key in sorted(keys, key=lambda key: (image.names[key[0]], key[1])):
            yield self._leadership(image, key, halfway)

    def _leadership(self, image: MetadataImage, key: tuple[str, int], halfway: frozenset[int]) -> Leadership:
        topic, partition = image.names[key[0]], key[1]
        replicas, leader = image.replicas[key], image.leaders.get(key, PartitionLeader())
        in_sync = tuple(dict.fromkeys((*leader.isr, *leader.elr))) or leader.last_known
        copies = self._copies((topic, partition), replicas, in_sync)
        homeless = [copy.node_id for copy in copies if copy.homeless]
        serving = [copy.node_id for copy in copies if copy.serves and not copy.homeless]
        unclean = self._unclean(image, topic)
        anybody = replicas if any(unclean) else ()
        able = possible_leaders(in_sync, (*serving, *homeless), anybody)
        complete = {copy.node_id for copy in copies if copy.complete}
        fate, reason = self._fate(able, complete, in_sync)
        if able and not set(able) - set(homeless):
            fate, reason = (
                Prospect.LEADERLESS,
                "; ".join(copy.reason or "" for copy in copies if copy.homeless),
            )
        if not able:
            behind_failed = [copy for copy in copies if copy.not_reached and copy.node_id in in_sync]
            able = tuple(copy.node_id for copy in behind_failed)
            reason = "; ".join(f"{copy.reason}{UNTIL}" for copy in behind_failed) or reason
        short = [copy for copy in copies if copy.node_id in able and not copy.complete]
        if short and all(copy.unseen for copy in short):
            fate, reason = Prospect.UNKNOWN, UNSEEN.format(", ".join(str(copy.node_id) for copy in short))
        if fate == Prospect.LOSES and (more := self._left_behind((topic, partition), short, in_sync)):
            fate, reason = Prospect.AT_RISK, more
        if fate == Prospect.AT_RISK and self._was_not_acknowledged((topic, partition), short, in_sync):
            reason = f"{reason}; {NOT_ACKNOWLEDGED}"
        ended = tuple(self._ends_ahead(image, (topic, partition), copies, able))
        for node, says in ended:
            reason = f"{reason}; node {node} can end then: {says}"
        elr = image.features.get(ELR_FEATURE, 0) > 0
        if not all(unclean) and self._may_wait(in_sync, serving, elr=elr):
            short_of = f"; if it does not: {reason}" if fate in (Prospect.LOSES, Prospect.AT_RISK) else ""
            fate, reason = Prospect.LEADERLESS, f"{self._waits(in_sync)}{short_of}"
        failed = (copy.node_id for copy in copies if copy.outcome == Service.OFFLINE)
        ends_on = reassigned(replicas, leader.removing, serving) if able else tuple(replicas)
        behind = [copy.records_lost for copy in copies if copy.node_id in able]
        return Leadership(
            topic=topic, partition=partition, replicas=tuple(replicas), isr=leader.isr, elr=leader.elr,
            leaders_possible=able, copies=tuple(copies), outcome=fate, reason=reason,
            in_sync_complete=tuple(node for node in in_sync if node in complete),
            records_at_risk=max(behind, default=0),
            order_helps=bool(complete) and (bool(anybody) or self._order_helps(in_sync, complete, elr=elr)),
            min_insync=self._min_insync(image, topic, able, len(ends_on)),
            mark_waits=MARK_WAITS.of(self.release), ends_on=ends_on,
            perhaps=(*(node for node in failed if able and node in halfway), *(homeless if able else ())),
            may_end=ended,
        )  # fmt: skip

    def _ends_ahead(
        self, image: MetadataImage, name: Name, copies: Sequence[ReplicaCopy], able: Sequence[int]
    ) -> Iterator[tuple[int, str]]:
        """Which nodes end over it: a follower keeps what is below its high watermark, whoever leads.

        Each asks the topic's settings and its own server.properties, not the controller's.
        """
        ends = {copy.node_id: copy.after.log_end_offset or 0 for copy in copies if copy.serves}
        first = min((ends[node] for node in able if node in ends), default=0)
        kept = {node: min(end, self.marks.get(name, 0)) for node, end in ends.items()}
        for node, end in kept.items():
            if (
                end > first
                and ENDS_AHEAD.of(self._release(node))
                and not self._lets_lead(image, name[0], node)
            ):
                yield node, AHEAD.format(f"{name[0]}-{name[1]}", first, end)

    def _may_wait(self, in_sync: Sequence[int], serving: Sequence[int], *, elr: bool) -> bool:
        """Whether nobody may lead it although somebody in sync is up."""
        if self.zookeeper:
            return may_wait_with_zookeeper(in_sync, serving, self._taking_out())
        # Also one whose session ends before it registers again is fenced, and leaves; seen with 3.7.
        return may_wait(in_sync, serving, self.clean, Leaves.KILLED if elr else Leaves.ANYBODY)

    def _taking_out(self) -> tuple[int, ...]:
        """The nodes that take others out of the ISR if they come up first."""
        return self.controllers if DEAD_LEAVE.of(self.release) else ()

    def _order_helps(self, in_sync: Sequence[int], complete: Collection[int], *, elr: bool) -> bool:
        """Whether the complete ones lead if they are started first."""
        if self.zookeeper:
            return not may_wait_with_zookeeper(in_sync, complete, set(self._taking_out()) - set(in_sync))
        leaves = Leaves.KILLED if elr else RESTARTED.of(self.release)
        return not may_wait(in_sync, complete, self.clean, leaves)

    def _unclean(self, image: MetadataImage, topic: str) -> list[bool]:
        """Whether each of the possible controllers would let anybody lead the topic."""
        return [
            (self.zookeeper or UNCLEAN_HEEDED.of(self._release(node))) and self._lets_lead(image, topic, node)
            for node in self.controllers or (-1,)
        ]

    def _lets_lead(self, image: MetadataImage, topic: str, node: int) -> bool:
        """Whether that node takes it that any replica of the topic may lead (`ConfigDef.Type.BOOLEAN`)."""
        own = image.configs.get(topic, {}).get(UNCLEAN_ELECTION)
        unset = str(UNCLEAN_UNSET.of(self.release))
        return boolean(own or self._setting(image, node, UNCLEAN_ELECTION) or unset) is True

    def _ends_halfway(self, image: MetadataImage) -> frozenset[int]:
        """The nodes whose way through what they led ends at a log in a dir that failed.

        Other replicas in that dir are then unknown to them, and made anew once they follow somebody.
        """
        if self.zookeeper:
            return frozenset()
        led = ((image.names.get(key[0], ""), key[1], one.leader) for key, one in image.leaders.items())
        lines = ((node, self.replicas.get((topic, number), {}).get(node)) for topic, number, node in led)
        return frozenset(
            node
            for node, line in lines
            if line and line.outcome == Service.OFFLINE and ENDS_AT_OFFLINE.of(self._release(node))
        )

    def _setting(self, image: MetadataImage, node_id: int, name: str) -> str | None:
        """A setting of a broker as it was changed while it ran, or as server.properties has it."""
        return image.dynamic(node_id).get(name) or self.settings.get(node_id, {}).get(name)

    def _min_insync(self, image: MetadataImage, topic: str, able: Sequence[int], replicas: int) -> int:
        """How many in-sync replicas acks=all needs, by the strictest of the possible leaders."""
        own = image.configs.get(topic, {}).get(MIN_INSYNC)
        told = [own] if own is not None else [self._setting(image, node, MIN_INSYNC) for node in able]
        needed = max((number for each in told if (number := integer(each)) is not None), default=1)
        capped = all(MIN_INSYNC_CAPPED.of(self._release(node)) for node in able or (-1,))
        return min(needed, replicas) if capped else needed

    def _release(self, node_id: int) -> Release:
        return self.releases.get(node_id, self.release)

    def _was_not_acknowledged(self, name: Name, short: Sequence[ReplicaCopy], in_sync: Sequence[int]) -> bool:
        """Whether the short ones were in sync, lose nothing by their start, and have what is committed."""
        mark = self.marks.get(name, 0)
        return all(
            copy.node_id in in_sync and not copy.loses and (copy.after.log_end_offset or 0) >= mark
            for copy in short
        )

    def _left_behind(self, name: Name, short: Sequence[ReplicaCopy], in_sync: Sequence[int]) -> str | None:
        """What to say where all that come up have what is known as committed, and one in sync has more."""
        away = self._away_in_sync(name, in_sync)
        node = max(away, key=lambda each: away[each], default=None)
        held = min((copy.after.log_end_offset or 0 for copy in short), default=0)
        if node is None or away[node] <= held or not self._was_not_acknowledged(name, short, in_sync):
            return None
        return LEFT_BEHIND.format(node, away[node])

    def _away_in_sync(self, name: Name, in_sync: Sequence[int]) -> dict[int, int]:
        """Where logs end that are in sync, and down."""
        return {node: end for node, end in self.away.get(name, {}).items() if node in in_sync}

    def _copies(self, name: Name, replicas: Sequence[int], in_sync: Sequence[int] = ()) -> list[ReplicaCopy]:
        """Each replica, held against the longest of those in sync, and against what is known as committed.

        Also against the logs of those that do not come up, if they are here: they are cut later. While all in
        sync are away, nobody knows what the others lack.
        """
        copies = [self._copy(name, node_id) for node_id in replicas]
        believed = [copy for copy in copies if copy.node_id in in_sync] or copies
        ends = [copy.after.log_end_offset or 0 for copy in believed if copy.serves]
        goal = max(self.marks.get(name, 0), *ends, *self._away_in_sync(name, in_sync).values(), 0)
        told = goal or any(copy.serves and not (copy.unseen or copy.loses) for copy in believed)
        held = [
            replace(
                copy,
                records_lost=max(copy.records_lost, goal - (copy.after.log_end_offset or 0), 0),
                unseen=copy.unseen and not told,
            )
            for copy in copies
        ]
        # What a torn end held, nobody can count; a sound copy that reaches as far shows that it was nothing.
        seen = not in_sync or any(copy.serves and copy.node_id in in_sync for copy in held)
        sound = any(copy.serves and not (copy.loses or copy.records_lost or copy.unseen) for copy in held)
        return [
            replace(
                copy,
                complete=copy.serves
                and (seen or copy.node_id in in_sync)
                and not (copy.records_lost or copy.unseen)
                and (not copy.loses or (sound and self._is_only_torn(name, copy.node_id))),
            )
            for copy in held
        ]

    def _is_only_torn(self, name: Name, node_id: int) -> bool:
        """Whether all that the start takes of a replica is behind its last whole batch."""
        effects = self.replicas[name][node_id].effects
        return all(each.effect == "tail-truncated" for each in effects if each.loses)

    def _copy(self, name: Name, node_id: int) -> ReplicaCopy:
        line = self.replicas.get(name, {}).get(node_id)
        if node_id in self.down or line is None:
            reason = self.down.get(node_id, "no log dir of this node has it")
            outcome = Service.OFFLINE if node_id in self.down else Service.UNSERVED
            return ReplicaCopy(node_id=node_id, dir=None, outcome=outcome, after=Extent(), reason=reason)
        copy = ReplicaCopy(
            node_id=node_id, dir=line.dir, outcome=line.outcome, after=line.after, reason=line.reason,
            records_lost=line.records_lost, loses=line.loses, concerns=line.concerns,
            not_reached=line.not_reached,
            unseen=line.outcome == Service.EMPTY and not (line.before.segments or line.records_lost),
        )  # fmt: skip
        directory = self.homeless.get(node_id, {}).get(name)
        return copy if directory is None else self._homeless(copy, line, directory)

    def _homeless(self, copy: ReplicaCopy, line: PartitionOutcome, directory: str) -> ReplicaCopy:
        """The same, where the metadata has it in a log dir that is none of its node's."""
        if all(each.effect != "log-recreated-empty" for each in line.effects):
            says = (UNLED_HERE.of(self._release(copy.node_id)) or "").format(directory)
            return replace(copy, homeless=True, reason=copy.reason or says)
        reason = MADE_ANEW.format(directory)
        return replace(
            copy, homeless=True, unseen=False, outcome=Service.UNSERVED, after=Extent(), reason=reason
        )

    def _fate(
        self, able: Sequence[int], complete: set[int], in_sync: Sequence[int]
    ) -> tuple[Prospect, str | None]:
        if not able:
            return Prospect.LEADERLESS, self._away(in_sync) or "no in-sync replica is served"
        whole = [node for node in able if node in complete]
        if len(whole) == len(able):
            return Prospect.LED, None
        lacking = ", ".join(str(node) for node in able if node not in complete)
        if whole:
            return Prospect.AT_RISK, f"node {lacking} can be elected, and lacks what others in sync have"
        return (
            Prospect.LOSES,
            f"of those that can be elected (node {lacking}), none is known to have all that was committed",
        )

    def _away(self, in_sync: Sequence[int]) -> str:
        return "; ".join(f"node {node}: {self.down[node]}" for node in in_sync if node in self.down)

    def _waits(self, in_sync: Sequence[int]) -> str:
        back = ", ".join(str(node) for node in in_sync if node not in self.down)
        return (
            f"node {back} can leave the ISR before it is back, and the controller may wait for the others: "
            f"{self._away(in_sync) or 'their replicas are not served'}"
        )
