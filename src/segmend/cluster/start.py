"""The start of several nodes of one cluster: each by the image of the leader that their quorum elects."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

from segmend.broker.election import NOT_REGISTERED, OLDER, TWICE
from segmend.cluster.leadership import Outage
from segmend.cluster.nodes import NodeStart, Playing, forgotten
from segmend.cluster.order import start_order
from segmend.cluster.quorum import fetched_again, quorum, voters_of
from segmend.cluster.values import (
    WORST,
    ClusterOutcome,
    Leadership,
    Name,
    NodeOutcome,
    Prospect,
    Quorum,
)
from segmend.frozen import replace
from segmend.loading import PartitionOutcome
from segmend.loading.metadata import FOLLOWS
from segmend.loading.values import Losses
from segmend.logdir.release import Release
from segmend.node.metadata_copy import Position
from segmend.node.metadata_image import MetadataImage
from segmend.node.older import told
from segmend.node.zookeeper_metadata import ZooKeeperMetadata

Line = NodeOutcome | Quorum | Leadership | ClusterOutcome
"""What a forecast of a cluster gives, in this order of kinds, the cluster last."""
NOT_GIVEN = "its log dirs were not given"
LEFT_OUT = "left out (--only)"
NO_QUORUM = "the metadata quorum does not come up"
NOT_HERE = (
    "in-sync replicas and leaders: no metadata log here tells them. ZooKeeper has them in its dataDir "
    "(`segmend forecast --cluster DIR... --zookeeper DATADIR` reads it); of a running one `zookeeper-shell "
    "HOST:2181 get /brokers/topics/TOPIC/partitions/NUMBER/state` prints those of a partition"
)
NO_METADATA_LOG = (
    "in-sync replicas and leaders: no metadata log here tells them (give the dirs of the controllers, too)"
)
ELECTED = (
    "what the metadata lacks: {} had leaders that it does not know, so it is older than these logs (restored "
    "from a backup?), and neither who was in sync since nor what was acknowledged is told"
)
SHORTER = (
    "what the metadata lacks: all that voter {} has behind offset {} goes if voter {} is elected, which ends "
    "there, and a voter whose metadata is not here may have had it, too: then it was committed"
)
FORGETS = (
    "voter {} can be elected, and its metadata, which ends at offset {}, does not know of it: a stray on "
    "every node then; voter {} has it in its own, which ends at {}"
)
BY_OLDER = (
    "who leads it is not told: voter {} has files of an older copy, and what was committed since is gone if "
    "voter {} is elected"
)
IF_ELECTED = "if voter {} is elected, whose metadata goes on to offset {}: {}"
BY_TWO = "who leads it is not told: epoch {} of the metadata may get a second leader"
ALONE = "node {} may end, and nobody else can lead it"
BLANK = "whether voter {} is elected: it has no metadata, and every topic is a stray then, on every node"


class ClusterForecast:
    """Iterate for the lines. `only` are the nodes that come up, all of those given if it is None.

    `unplaced` tells of dirs of which nobody knows whose they are, `zookeeper` what takes the place of a
    metadata quorum; the nodes were told of it.
    """

    def __init__(
        self,
        playing: Playing,
        only: Collection[int] | None = None,
        unplaced: Sequence[str] = (),
        zookeeper: ZooKeeperMetadata | None = None,
    ) -> None:
        self._playing = playing
        self._zookeeper = zookeeper
        self._given = frozenset(playing.node_ids)
        self._started = sorted(self._given if only is None else self._given & set(only))
        self._unplaced = unplaced
        self._sights = playing.sights()
        # A node goes by the voters in its own log: one that stays away knows of newer ones in vain.
        self._voters = voters_of({node: self._sights[node] for node in self._started}) or voters_of(
            self._sights
        )

    def __iter__(self) -> Iterator[Line]:
        starts, elected = self._settled()
        told = [self._doubted(line, elected) for line in self._leaderships(starts, elected)]
        may_end = self._may_end(told)
        lines = [_with_its_node(line, may_end) for line in told]
        nodes = [
            replace(self._beside(each, elected), may_end=tuple(may_end[each.node_id]))
            for each in self._fetching(starts, elected)
        ]
        yield from nodes
        yield elected
        yield from lines
        yield self._outcome(nodes, elected, lines, tuple(_older(starts)))

    def _settled(self) -> tuple[list[NodeStart], Quorum]:
        """The starts and the quorum: of a voter that refuses the image does not count.

        Nor its vote, if it refuses before it loads its logs.
        """
        down: dict[int, str] = {}
        joined: set[int] = set()
        while True:
            elected = quorum(self._voters, self._sights, self._absent() | down, joined)
            played = self._playing.starts(self._started, self._leader(elected))
            starts = sorted(played, key=lambda each: each.outcome.node_id)
            refused = _refused(starts)
            if refused.keys() <= down.keys():
                return starts, elected
            down |= refused
            joined |= {each.outcome.node_id for each in starts if each.outcome.broker.joined}

    def _absent(self) -> dict[int, str]:
        """Why nodes that the quorum or the metadata names are not started."""
        told = chain.from_iterable(sight.replicas for sight in self._sights.values())
        zookeeper = () if self._zookeeper is None else self._zookeeper.image.replicas.values()
        named = {*self._voters, *told, *chain.from_iterable(zookeeper)}
        reasons = {node: NOT_GIVEN for node in sorted(named - self._given)}
        return reasons | {node: LEFT_OUT for node in sorted(self._given - set(self._started))}

    def _leader(self, elected: Quorum) -> int | None:
        """The worst voter that can be elected: one without metadata only where no other can be.

        The one with the newest metadata, if nobody can.
        """
        known = {node: seen.position for node, seen in self._sights.items() if seen.position is not None}
        able = [node for node in elected.leaders_possible if node in known]
        if not able and elected.blank:
            return elected.blank[-1]
        return able[-1] if able else max(known, key=lambda node: known[node], default=None)

    def _left_out(self, elected: Quorum) -> Iterator[NodeStart]:
        """What those have that were given and do not come up."""
        left = sorted(self._given - set(self._started))
        return self._playing.starts(left, self._leader(elected)) if left else iter(())

    def _image(self, elected: Quorum) -> MetadataImage | None:
        if self._zookeeper is not None:
            return self._zookeeper.image
        leader = self._leader(elected)
        return None if leader is None else self._playing.image(leader)

    def _fetching(self, starts: Sequence[NodeStart], elected: Quorum) -> Iterator[NodeOutcome]:
        """What is cut off a copy of the metadata that whoever is elected has is not lost."""
        cut = {each.outcome.node_id: each.outcome.broker.metadata_lost for each in starts}
        had = {node: self._sights[node].before(lost) for node, lost in cut.items()}
        known = _all_of_it(had, elected)
        leader = self._leader(elected) if elected.comes_up else None
        ends = None if leader is None else self._sights[leader].position
        again = ends is not None and fetched_again(self._voters, known, ends)
        for node in (each.outcome for each in starts):
            yield replace(node, broker=replace(node.broker, metadata_lost=Losses())) if again else node

    def _beside(self, node: NodeOutcome, elected: Quorum) -> NodeOutcome:
        """Without a quorum a node waits for its metadata, serves nobody, and ends after a minute."""
        if elected.comes_up or not self._voters or not (node.broker.starts and node.broker.partitions):
            return node
        waits = f"{NO_QUORUM}; after a minute: {NOT_REGISTERED}"
        return replace(node, broker=replace(node.broker, unserved=node.broker.partitions, reason=waits))

    def _leaderships(self, starts: Sequence[NodeStart], elected: Quorum) -> Iterator[Leadership]:
        image = self._image(elected)
        releases = {each.outcome.node_id: Release.parse(each.outcome.broker.release) for each in starts}
        if not releases:
            return
        seen = Outage(
            release=max(releases.values()),
            releases=releases,
            down=self._absent() | _refused(starts),
            clean=frozenset(each.outcome.node_id for each in starts if _is_clean(each, image)),
            replicas=_by_partition(starts),
            homeless={each.outcome.node_id: each.homeless for each in starts},
            away=_ends_of(
                chain((each for each in starts if not each.outcome.broker.starts), self._left_out(elected))
            ),
            marks=_highest(sight.marks for sight in self._sights.values()),
            settings={node: sight.settings for node, sight in self._sights.items()},
            controllers=elected.leaders_possible if self._zookeeper is None else _up(starts),
            zookeeper=self._zookeeper is not None,
        )
        if image is None:
            yield from seen.unknown()
            return
        for line in chain(self._by_any(seen, image, elected), self._unheard_of(seen, image, elected)):
            yield (
                line
                if self._is_led(elected)
                else replace(
                    line,
                    outcome=Prospect.LEADERLESS,
                    leaders_possible=(),
                    reason=f"{NO_QUORUM}: {elected.reason}",
                )
            )

    def _by_any(self, seen: Outage, image: MetadataImage, elected: Quorum) -> Iterator[Leadership]:
        """By the image of the voter with the shortest that can be elected, or of another where that is worse.

        What a voter has that was not committed yet, is, once it leads.
        """
        told = {(line.topic, line.partition): line for line in seen.leaderships(image)}
        leader = self._leader(elected)
        own = None if leader is None else self._sights[leader].position
        had = {self._sights[node].position: node for node in reversed(elected.leaders_possible)}
        for ends, node in had.items():
            if ends is None or ends == own:
                continue
            for line in seen.leaderships(self._playing.image(node) or image):
                known = told.get((line.topic, line.partition))
                if known is not None and WORST.index(line.outcome) < WORST.index(known.outcome):
                    reason = IF_ELECTED.format(node, ends[1], line.reason)
                    told[line.topic, line.partition] = replace(line, reason=reason)
        yield from told.values()

    def _unheard_of(self, seen: Outage, image: MetadataImage, elected: Quorum) -> Iterator[Leadership]:
        """Partitions that the newest metadata here has, and that of a voter that can be elected has not.

        What was not committed nobody has heard of: no node has a directory of it then.
        """
        leader, newest = self._leader(elected), self._newest(self._sights)
        if self._zookeeper is not None or leader is None or newest is None or not elected.comes_up:
            return
        ends, most = (self._sights[node].position or (0, 0) for node in (leader, newest))
        later = self._playing.image(newest) if most > ends else None
        if later is None:
            return
        known = {(image.names[key[0]], key[1]) for key in image.replicas if key[0] in image.names}
        again = fetched_again(self._voters, _all_of_it(self._had(), elected), ends)
        reason = FORGETS.format(leader, ends[1], newest, most[1])
        for line in seen.leaderships(later):
            name = line.topic, line.partition
            if name not in known and (not again or name in seen.replicas):
                yield replace(line, outcome=Prospect.LEADERLESS, leaders_possible=(), reason=reason)

    def _doubted(self, line: Leadership, elected: Quorum) -> Leadership:
        """The same, not known where the metadata by which it is led is not what was committed."""
        if line.outcome != Prospect.LED:
            return line
        if elected.twice is not None:
            return replace(line, outcome=Prospect.UNKNOWN, reason=BY_TWO.format(elected.twice[0]))
        had = _all_of_it(self._had(), elected)
        short = [
            node for node in elected.leaders_possible
            if not fetched_again(self._voters, had, self._sights[node].position or (0, 0))
        ]  # fmt: skip
        if not elected.older or not short:
            return line
        reason = BY_OLDER.format(", ".join(map(str, elected.older)), " or ".join(map(str, sorted(short))))
        return replace(line, outcome=Prospect.UNKNOWN, reason=reason)

    def _had(self) -> dict[int, Position | None]:
        """Where the metadata of each voter ends that is here."""
        return {node: seen.position for node, seen in self._sights.items() if node in self._voters}

    def _newest(self, nodes: Iterable[int]) -> int | None:
        """Whose metadata goes furthest."""
        known = {node: position for node in nodes if (position := self._sights[node].position) is not None}
        return max(known, key=lambda node: known[node], default=None)

    def _outcome(
        self, nodes: list[NodeOutcome], elected: Quorum, lines: list[Leadership], behind: Sequence[str]
    ) -> ClusterOutcome:
        up = [node.node_id for node in nodes if node.broker.starts]
        zookeeper = () if self._zookeeper is None else self._zookeeper.assumed
        needed = 0 if self._zookeeper is not None else elected.needed
        order, helpless = start_order(up, lines, elected.voters_up, needed)
        return ClusterOutcome(
            nodes=len(nodes), partitions=len(lines), fates=dict(Counter(line.outcome for line in lines)),
            refusing=sum(line.refuses_writes for line in lines),
            deletes=any(node.deleted for node in nodes),
            start_order=order, order_cannot_help=helpless,
            all_start=all(node.broker.starts for node in nodes), quorum_comes_up=self._is_led(elected),
            all_whole=all(node.broker.nothing_lost for node in nodes),
            unknown=tuple(dict.fromkeys((*self._unknown(nodes, elected), *behind))),
            assumed=(*zookeeper, *_assumed(nodes)),
        )  # fmt: skip

    def _may_end(self, lines: Sequence[Leadership]) -> Mapping[int, list[str]]:
        """Why nodes that started may end over what others know of the metadata, or lack of a partition."""
        reasons: dict[int, list[str]] = defaultdict(list)
        own = forgotten({node: self._sights[node] for node in self._started})
        for node, why in chain(own, *(line.may_end for line in lines)):
            reasons[node].append(why)
        return reasons

    def _is_led(self, elected: Quorum) -> bool:
        """Whether there will be a controller; ZooKeeper makes one of any node that is up."""
        return elected.comes_up or self._zookeeper is not None

    def _unknown(self, nodes: list[NodeOutcome], elected: Quorum) -> Iterator[str]:
        yield from self._unplaced
        if self._zookeeper is not None:
            yield from self._zookeeper.unknown
        elif not self._voters:
            yield NO_METADATA_LOG if any(each.kraft for each in self._sights.values()) else NOT_HERE
        yield from (BLANK.format(node) for node in elected.blank)
        yield from (OLDER.format(node=node, why=why) for node, why in elected.older.items())
        if elected.twice is not None:
            epoch, behind = elected.twice
            yield TWICE.format(epoch=epoch, all=len(self._voters), who=", ".join(map(str, behind)))
        yield from self._shorter(elected)
        yield from (f"node {node}: {why}" for node, why in self._absent().items() if why == NOT_GIVEN)
        for node in nodes:
            yield from (f"node {node.node_id}: {each}" for each in node.unknown)

    def _shorter(self, elected: Quorum) -> Iterator[str]:
        """Voters that can be elected, and perhaps lack what was committed: somebody else has it."""
        here = {node: position for node, position in self._had().items() if position is not None}
        newest = self._newest(here)
        for node in elected.leaders_possible:
            ends = here.get(node)
            if newest is None or ends is None or ends >= here[newest]:
                continue
            if not fetched_again(self._voters, _all_of_it(here, elected), ends):
                yield SHORTER.format(newest, ends[1], node)


def _all_of_it(had: Mapping[int, Position | None], elected: Quorum) -> dict[int, Position]:
    """Those that nobody ever had more than: of files of an older copy nothing tells that."""
    older = elected.older
    return {node: ends for node, ends in had.items() if ends is not None and node not in older}


def _with_its_node(line: Leadership, may_end: Collection[int]) -> Leadership:
    """The same, not known where all that can lead it may end."""
    able = line.leaders_possible or ()
    if line.outcome != Prospect.LED or not able or not set(able) <= set(may_end):
        return line
    reason = ALONE.format(", ".join(map(str, able)))
    return replace(line, outcome=Prospect.UNKNOWN, reason=reason)


def _older(starts: Sequence[NodeStart]) -> Iterator[str]:
    yield from told(ELECTED, frozenset().union(*(each.ahead for each in starts)))


def _is_clean(start: NodeStart, image: MetadataImage | None) -> bool:
    """Whether the controller believes that the node stopped cleanly: in the epoch that it knows of it."""
    known = None if image is None else image.broker_epochs.get(start.outcome.node_id)
    return start.outcome.clean_shutdown and known in (None, start.stopped_in)


def _refused(starts: Sequence[NodeStart]) -> dict[int, str]:
    outcomes = [each.outcome for each in starts if not each.outcome.broker.starts]
    return {outcome.node_id: outcome.broker.reason or "" for outcome in outcomes}


def _up(starts: Sequence[NodeStart]) -> tuple[int, ...]:
    return tuple(each.outcome.node_id for each in starts if each.outcome.broker.starts)


def _by_partition(starts: Sequence[NodeStart]) -> dict[Name, dict[int, PartitionOutcome]]:
    by_node: dict[Name, dict[int, PartitionOutcome]] = defaultdict(dict)
    for each in starts:
        for name, line in each.replicas.items():
            by_node[name][each.outcome.node_id] = line
    return by_node


def _ends_of(starts: Iterable[NodeStart]) -> dict[Name, dict[int, int]]:
    """Where the logs of each node end, by partition."""
    ends: dict[Name, dict[int, int]] = defaultdict(dict)
    for each in starts:
        for name, line in each.replicas.items():
            ends[name][each.outcome.node_id] = line.after.log_end_offset or line.before.log_end_offset or 0
    return ends


def _highest(marks: Iterable[Mapping[Name, int]]) -> dict[Name, int]:
    ends: dict[Name, int] = {}
    for each in marks:
        for name, offset in each.items():
            ends[name] = max(ends.get(name, 0), offset)
    return ends


def _assumed(nodes: list[NodeOutcome]) -> Iterator[str]:
    """What their forecasts took for granted, but for what is looked at here: who leads them."""
    of: dict[str, list[str]] = {}
    for node in nodes:
        for each in (each for each in node.broker.assumed if each != FOLLOWS):
            of.setdefault(each, []).append(str(node.node_id))
    for each, named in of.items():
        yield each if len(named) == len(nodes) else f"node {', '.join(named)}: {each}"
    yield "that nodes reach each other, and that nothing is written before all are up"
