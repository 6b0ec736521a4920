"""What changes on disk and at the start from release to release: the data of `segmend explain upgrade`.

Each line was seen on brokers of the lab (`tests/lab/upgrade.py`) or names the KIP that it follows. Limits of
single settings are not repeated here: they are in the tables of `settings`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from segmend.broker.features import level_name
from segmend.frozen import frozen, replace
from segmend.logdir.release import Release, highest_level


class Topic(StrEnum):
    """Under which heading a line stands."""

    CHANGES = "changes"
    REFUSES = "refuses"
    ONE_WAY = "one_way"
    CHECK = "check"


class Mode(StrEnum):
    """Whom a line concerns."""

    ANY = "any"
    ZOOKEEPER = "zookeeper"
    KRAFT = "kraft"


@frozen
class Line:
    """`since` is the release with which it comes: upwards it counts from there (and before `until`),
    downwards below it."""

    since: tuple[int, ...]
    topic: Topic
    text: str
    mode: Mode = Mode.ANY
    until: tuple[int, ...] = (99,)


def _line(since: str, topic: Topic, text: str, mode: Mode = Mode.ANY, until: str = "99") -> Line:
    first, end = (tuple(map(int, each.split("."))) for each in (since, until))
    return Line(since=first, topic=topic, text=" ".join(text.split()), mode=mode, until=end)


_UNLISTED: Final = _line(
    "0.11",
    Topic.CHECK,
    """
    server.properties and the topics' settings: which of them a release before 0.11 knows, and in which
    limits, was not looked at""",
)
_UP: Final = (
    _UNLISTED,
    _line("0.10", Topic.CHANGES, "records get timestamps (magic 1, KIP-32), segments a .timeindex (0.10.1)"),
    _line("0.11", Topic.CHANGES, """
        records of magic 2; leader-epoch-checkpoint, producer snapshots and .txnindex in each partition,
        log-start-offset-checkpoint in each dir (KIP-98, KIP-101, KIP-107)"""),
    _line("0.11", Topic.ONE_WAY, """
        records of magic 2 are written once log.message.format.version says so; no release before 0.11
        reads them"""),
    _line("1.0", Topic.CHANGES, "one failed log dir no longer ends the broker (KIP-112)"),
    _line("1.1", Topic.CHANGES, "-future directories: replicas move between log dirs (KIP-113)"),
    _line("2.1", Topic.ONE_WAY, "zstd may be used (KIP-110); no release before 2.1 reads such batches"),
    _line("2.3", Topic.CHANGES, "offset and time indexes are no longer checked at load (KAFKA-7283)"),
    _line("2.3", Topic.ONE_WAY, """
        once inter.broker.protocol.version is 2.3, groups are stored in version 3: 1.1 then loads none of
        them ("Unknown group metadata version 3")""", Mode.ZOOKEEPER),
    _line("2.1.1", Topic.CHANGES, """
        a log.message.format.version (or a topic's own) below 0.11 deletes each leader-epoch-checkpoint at the
        start: replicas are cut by the high watermark again, which can lose records (KAFKA-7897)""",
        Mode.ZOOKEEPER, until="4.0"),
    _line("2.4", Topic.CHANGES, """
        cluster.id in meta.properties; a disk of another cluster is refused (KAFKA-7335)""",
        Mode.ZOOKEEPER),
    _line("2.8", Topic.CHANGES, "partition.metadata with the topic's id in each partition (KIP-516)"),
    _line("2.8", Topic.CHANGES, "the clean shutdown marker is removed before the load (KAFKA-10471)"),
    _line("3.0", Topic.ONE_WAY, """
        from inter.broker.protocol.version 3.0 on log.message.format.version is ignored: every new record
        is of magic 2 (KIP-724)"""),
    _line("3.3", Topic.CHANGES, """
        the cluster has a metadata.version; it stays where it is until kafka-features.sh raises it
        (KIP-778)""", Mode.KRAFT),
    _line("3.7", Topic.CHANGES, """
        the first start writes a directory.id into each meta.properties (KIP-858); strays are renamed
        -stray instead of deleted (KAFKA-14616)""", Mode.KRAFT),
    _line("3.7", Topic.ONE_WAY, """
        with directory ids in two or more dirs no release up to 3.3 starts again ("BrokerMetadata is not
        consistent across log.dirs"); 3.4 to 3.6 do""", Mode.KRAFT),
    _line("3.7", Topic.CHECK, """
        several log dirs need metadata.version 3.7-IV2: below it the broker complains at each start
        ("Multiple log directories (aka JBOD) are not supported"), and serves nothing where one fails""",
        Mode.KRAFT),
    _line("3.9", Topic.CHANGES, """
        quorum-state of version 1 where the voters are kept in the log (kraft.version 1, KIP-853)""",
        Mode.KRAFT),
    _line("4.0", Topic.REFUSES, """
        Java below 17 ("UnsupportedClassVersionError: kafka/Kafka ... class file version 61.0", KIP-1013)"""),
    _line("4.0", Topic.REFUSES, """
        without process.roles no broker starts ('Missing required configuration "process.roles"').
        Migrate on 3.9 first (KIP-866)""", Mode.ZOOKEEPER),
    _line("3.9", Topic.REFUSES, """
        controller.quorum.bootstrap.servers in place of controller.quorum.voters where the log names no voters
        (kraft.version 0): nobody is elected, and brokers end after a minute. Leave the voters where they are
        (KAFKA-16538)""", Mode.KRAFT),
    _line("3.5", Topic.REFUSES, """
        zookeeper.metadata.migration.enable=true on a cluster that never was ZooKeeper's, once a controller is
        elected ("Should not have ZK migrations enabled on a cluster that was created in KRaft mode.")""",
        Mode.KRAFT, until="4.0"),
    _line("4.0", Topic.REFUSES, """
        authorizer.class.name=kafka.security.authorizer.AclAuthorizer ("ClassNotFoundException"), which KRaft
        never had a use for: org.apache.kafka.metadata.authorizer.StandardAuthorizer is in its place"""),
    _line("4.0", Topic.REFUSES, """
        a metadata.version below 3.3-IV3 ("Unsupported metadata version"): raise it before, with
        kafka-features.sh""", Mode.KRAFT),
    _line("4.0", Topic.CHANGES, """
        inter.broker.protocol.version and log.message.format.version are no longer known, and ignored;
        records of magic 0 and 1 are read, but never written (KIP-724)"""),
    _line("4.0", Topic.CHANGES, """
        features beside metadata.version: transaction.version, group.version,
        eligible.leader.replicas.version (KIP-1022)""", Mode.KRAFT),
    _line("3.3", Topic.CHANGES, """
        a setting of brokers that was changed while they ran, and is outside its limits, ends no start: it is
        logged ("Dynamic broker config contains invalid values in") and ignored""", Mode.KRAFT),
    _line("4.1", Topic.REFUSES, """
        topics with segment.bytes below 1 MiB, on whichever broker they are: the broker ends before it loads
        a log (KIP-1030)""", Mode.KRAFT),
    _line("4.1", Topic.CHECK, """
        kafka-configs.sh --describe --entity-type topics --all | grep segment.bytes, and change them while
        the old release runs""", Mode.KRAFT),
)  # fmt: skip
_CROSSING: Final = (
    _line(
        "2.8",
        Topic.REFUSES,
        'roles in server.properties over ZooKeeper\'s log dirs ("Expected version 1, but got version 0")',
        until="3.4",
    ),
    _line(
        "3.4",
        Topic.REFUSES,
        """
        roles in server.properties over ZooKeeper's log dirs without cluster.id ("Failed to find required
        property cluster.id.", "Error: cluster ID not found")""",
    ),
    _line(
        "3.4",
        Topic.ONE_WAY,
        """
        roles in server.properties over ZooKeeper's log dirs with cluster.id, without a migration: the node
        starts with empty metadata; 3.4 to 3.6 delete every partition whose topic has an id, later releases
        rename all of them -stray. Never change the mode by server.properties alone (KIP-866)""",
    ),
)
"""From ZooKeeper to KRaft."""
_CROSSING_BACK: Final = (
    _line(
        "2.8",
        Topic.REFUSES,
        """
        zookeeper.connect instead of roles over a KRaft node's log dirs ("Found unexpected version in",
        "BrokerMetadata is not consistent across log.dirs")""",
    ),
)
"""From KRaft to ZooKeeper, as long as a release knows it."""
_DOWN: Final = (
    _UNLISTED,
    _line("0.10", Topic.REFUSES, "records of magic 1 are not read by a release before 0.10"),
    _line("0.11", Topic.REFUSES, "records of magic 2 are not read by a release before 0.11"),
    _line("1.1", Topic.REFUSES, "a -future directory ends the start of a release before 1.1"),
    _line("2.1", Topic.REFUSES, "batches in zstd are not read by a release before 2.1"),
    _line("2.3", Topic.ONE_WAY, """
        groups stored by 2.3 or later are not loaded ("Unknown group metadata version 3"): their offsets are
        not found, consumers start by auto.offset.reset""", Mode.ZOOKEEPER),
    _line("2.8", Topic.CHANGES, "partition.metadata is ignored, and stays", Mode.ZOOKEEPER),
    _line("3.0", Topic.REFUSES, """
        KRaft's meta.properties (version 1) is not read: "Unrecognized version of the server meta.properties
        file: 1" """, Mode.KRAFT),
    _line("3.7", Topic.REFUSES, """
        a -stray directory ends the start of a release before 3.7""", Mode.KRAFT),
    _line("3.7", Topic.REFUSES, """
        directory ids in two or more dirs end the start of a release up to 3.3 ("BrokerMetadata is not
        consistent across log.dirs")""", Mode.KRAFT),
    _line("4.0", Topic.REFUSES, """
        the cluster's metadata, unless it was formatted with, or lowered to, a metadata.version that the
        older release knows; kafka-features.sh lowers it only where nothing of the newer level was used""",
        Mode.KRAFT),
    _line("4.1", Topic.ONE_WAY, """
        a release before 3.4.1 loads no group of a partition of __consumer_offsets in which 4.1 or later wrote
        a commit ("Error loading offsets from"): consumers start by auto.offset.reset""", Mode.KRAFT),
    _line("4.3", Topic.REFUSES, """
        metadata of level 4.3-IV0: "Failed to deserialize record with type 0" """, Mode.KRAFT),
)  # fmt: skip
_ALWAYS_UP: Final = (
    _line(
        "0.8",
        Topic.CHECK,
        """
        segmend forecast DIR... --kafka {to} --config server.properties: plays this start on the files""",
    ),
    _line(
        "3.3",
        Topic.ONE_WAY,
        """
        kafka-features.sh upgrade --release-version {to}: from then on {from_} does not start on these dirs
        any more; before, only what else stands here keeps it from starting""",
        Mode.KRAFT,
    ),
)
_ALWAYS_DOWN: Final = (
    _line(
        "0.8",
        Topic.CHECK,
        """
        segmend forecast DIR... --kafka {to} --config server.properties: plays this start on the files""",
    ),
    _line("0.8", Topic.CHECK, "a copy of the disks: no release promises to read what a newer one wrote"),
    _line(
        "3.3",
        Topic.REFUSES,
        """
        a metadata.version above {level}, the newest of {to} ("No MetadataVersion with",
        "Unsupported metadata version", "Failed to deserialize record with type")""",
        Mode.KRAFT,
    ),
    _line(
        "3.3",
        Topic.CHECK,
        """
        kafka-features.sh describe: where metadata.version was never above {level}, {to} starts again""",
        Mode.KRAFT,
    ),
)
ZOOKEEPER_ENDS: Final = (4, 0)
KRAFT_BEGINS: Final = (3, 3)


def lines(from_: Release, to: Release, modes: frozenset[Mode]) -> list[Line]:
    """Everything that counts between the two, the older first upwards, the newer first downwards."""
    both = modes >= {Mode.ZOOKEEPER, Mode.KRAFT}
    if to >= from_:
        between = [each for each in _UP if from_ < each.since and to >= each.since]
        between += [each for each in _ALWAYS_UP if from_ >= each.since]
    else:
        between = [each for each in reversed(_DOWN) if to < each.since and from_ >= each.since]
        between += [each for each in _ALWAYS_DOWN if to >= each.since]
    between += [each for each in _CROSSING if both and to >= each.since and to < each.until]
    between += [each for each in _CROSSING_BACK if both and (2, 8) <= to.padded[:2] < ZOOKEEPER_ENDS]
    names = {"from_": str(from_), "to": str(to), "level": level_name(highest_level(to))}
    return [_named(each, names) for each in between if each.mode in {*modes, Mode.ANY}]


def _named(line: Line, names: dict[str, str]) -> Line:
    return replace(line, text=line.text.format(**names))


def modes_of(release: Release) -> frozenset[Mode]:
    zookeeper = {Mode.ZOOKEEPER} if release < ZOOKEEPER_ENDS else set()
    return frozenset(zookeeper | ({Mode.KRAFT} if release >= KRAFT_BEGINS else set()))
