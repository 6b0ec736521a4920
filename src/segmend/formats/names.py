"""Names of directories and files in a log dir, read by the broker's own parse rules.

Follows `UnifiedLog.parseTopicPartitionName`, `LocalLog.offsetFromFileName`,
`LogFileUtils.filenamePrefixFromOffset`, `org.apache.kafka.snapshot.Snapshots`, and for names of topics
`org.apache.kafka.common.internals.Topic`.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from segmend.formats.java_number import LONG_MAX, parse_int, parse_long

CLUSTER_METADATA_TOPIC = "__cluster_metadata"
CLUSTER_METADATA = f"{CLUSTER_METADATA_TOPIC}-0"
"""The directory of the metadata log of a KRaft node, in its `metadata.log.dir`."""
BOOTSTRAP_CHECKPOINT = "bootstrap.checkpoint"
REMOTE_INDEX_CACHE = "remote-log-index-cache"
CONSUMER_OFFSETS = "__consumer_offsets"
TRANSACTION_STATE = "__transaction_state"
SHARE_GROUP_STATE = "__share_group_state"
"""The share coordinator's (KIP-932); with the two before `Topic.INTERNAL_TOPICS`."""
MAX_TOPIC_LENGTH = 249
_LEGAL_TOPIC = re.compile(r"[A-Za-z0-9._-]+")

DirKind = Literal["current", "future", "delete", "stray", "cluster-metadata", "remote-index-cache", "foreign"]
FileKind = Literal[
    "log", "index", "timeindex", "txnindex", "snapshot", "kraft-snapshot",
    "leader-epochs", "partition-metadata", "quorum-state", "other", "unparsable",
]  # fmt: skip
FileState = Literal["live", "deleted", "cleaned", "swap", "part", "tmp"]


class DirName(NamedTuple):
    """A sub-directory's name. `foreign` is a name on which the broker refuses to start.

    `topic` is "" and `partition` -1 where the name has none.
    """

    name: str
    kind: DirKind
    topic: str = ""
    partition: int = -1


class FileName(NamedTuple):
    """A file's name inside a partition directory.

    `unparsable` is a name that kills the broker with a NumberFormatException; `other` is
    one it ignores (or, with state `cleaned` or `deleted`, removes). `padded` tells that
    the name is as the broker writes it, with 20 digits and nothing behind them: a segment that is
    not is shadowed by an empty one. `epoch` is set for KRaft snapshots.
    """

    name: str
    kind: FileKind
    state: FileState = "live"
    base_offset: int | None = None
    padded: bool = True
    epoch: int | None = None


# Java's \S, which knows ASCII whitespace only.
_RENAMED = re.compile(
    r"([^ \t\n\x0b\f\r]+)-([^ \t\n\x0b\f\r]+)\.([^ \t\n\x0b\f\r]+)-(delete|future|stray)", re.DOTALL
)
RENAMED_KINDS: Final[tuple[DirKind, ...]] = ("delete", "future", "stray")
"""Of directories whose name says that they are no current replica."""


def is_found(name: str) -> bool:
    """Whether `File.listFiles` gives a name under which there is something.

    Java puts U+FFFD for bytes that are no UTF-8; what is called that is neither file nor directory.
    """
    return name.isascii() or not any("\ud800" <= each <= "\udfff" for each in name)


def parse_dir_name(name: str) -> DirName:
    """What the broker takes directory `name` for; kind `foreign` where it gives up."""
    if name == REMOTE_INDEX_CACHE:
        return DirName(name, "remote-index-cache")
    kind: DirKind = "current"
    topic_partition = name
    for renamed in RENAMED_KINDS:
        if name.endswith(f"-{renamed}"):
            if not _RENAMED.fullmatch(name):
                return DirName(name, "foreign")
            kind = renamed
            topic_partition = name.rpartition(".")[0]
            break
    topic, dash, number = topic_partition.rpartition("-")
    partition = parse_int(number)
    if not dash or not topic or partition is None:
        return DirName(name, "foreign")
    if topic == CLUSTER_METADATA_TOPIC:
        kind = "cluster-metadata"
    return DirName(name, kind, topic, partition)


INDEX_SUFFIXES: Final = (".index", ".timeindex", ".txnindex")
SEGMENT_SUFFIXES: Final = (".log", *INDEX_SUFFIXES)
"""Of the files that a segment has beside it, and of all of them."""
_SEGMENT_KINDS: tuple[FileKind, ...] = ("log", "index", "timeindex", "txnindex", "snapshot")
_STATES: tuple[tuple[str, FileState], ...] = (
    ("", "live"), (".deleted", "deleted"), (".cleaned", "cleaned"), (".swap", "swap"), (".tmp", "tmp"),
)  # fmt: skip
# Everything after the offset, for the names that brokers really write.
_ENDINGS: dict[str, tuple[FileKind, FileState]] = {
    f".{kind}{suffix}": (kind, state) for kind in _SEGMENT_KINDS for suffix, state in _STATES
}
_FIXED: dict[str, FileKind] = {
    "leader-epoch-checkpoint": "leader-epochs",
    "partition.metadata": "partition-metadata",
    "quorum-state": "quorum-state",
}
_KRAFT_SNAPSHOT: tuple[tuple[str, FileState], ...] = (
    (".checkpoint", "live"), (".checkpoint.part", "part"), (".checkpoint.deleted", "deleted"),
)  # fmt: skip


def parse_file_name(name: str) -> FileName:
    """What the broker takes file `name` of a partition directory for."""
    ending = _ENDINGS.get(name[20:])
    if ending is not None:
        digits = name[:20]
        if digits.isdecimal() and digits.isascii():
            offset = int(digits)
            if offset <= LONG_MAX:
                return FileName(name, ending[0], ending[1], offset)
    return _parse_odd_file_name(name)


def _parse_odd_file_name(name: str) -> FileName:
    """The names that are not twenty digits and a known ending."""
    stem, state = _split_state(name)
    if stem in _FIXED and state in ("live", "tmp"):
        return FileName(name, _FIXED[stem], state)
    for suffix, snapshot_state in _KRAFT_SNAPSHOT:
        if name.endswith(suffix):
            return _parse_kraft_snapshot(name, snapshot_state)
    kind = _segment_kind(stem)
    prefix = name.partition(".")[0]
    offset = parse_long(prefix)
    if not is_found(name):  # Snapshots are listed by their paths since 3.5, and their numbers read.
        named = name.endswith(".snapshot") and offset is None
        return FileName(name, "unparsable" if named else "other")
    if offset is None and _broker_parses(kind, state):
        return FileName(name, "unparsable", state)
    if offset is None or kind == "other":
        return FileName(name, "other", state)
    return FileName(name, kind, state, offset, stem == f"{file_prefix(offset)}.{kind}")


def _split_state(name: str) -> tuple[str, FileState]:
    for suffix, state in _STATES[1:]:
        if name.endswith(suffix):
            return name[: -len(suffix)], state
    return name, "live"


def _segment_kind(stem: str) -> FileKind:
    for kind in _SEGMENT_KINDS:
        if stem.endswith(f".{kind}"):
            return kind
    return "other"


def _broker_parses(kind: FileKind, state: FileState) -> bool:
    """Whether `LogLoader` reads an offset out of a file of this kind and state."""
    return state in ("cleaned", "swap") or (state == "live" and kind != "other")


def _parse_kraft_snapshot(name: str, state: FileState) -> FileName:
    """`Snapshots.parse`: 20 digits of end offset, a dash, 10 digits of epoch."""
    offset, epoch = parse_long(name[:20]), parse_int(name[21:31])
    if offset is None or epoch is None:
        return FileName(name, "other", state)
    padded = name.startswith(f"{file_prefix(offset)}-{epoch:010d}")
    return FileName(name, "kraft-snapshot", state, offset, padded, epoch)


def file_prefix(offset: int) -> str:
    """`LogFileUtils.filenamePrefixFromOffset`: the offset in 20 digits, behind its sign if it has one."""
    return f"{offset:020d}" if offset >= 0 else f"{offset:021d}"


def is_legal_topic(name: str) -> bool:
    """Whether `Topic.validate` takes it, but for its length (`MAX_TOPIC_LENGTH`)."""
    return _LEGAL_TOPIC.fullmatch(name) is not None and name not in (".", "..")


def topics_collide(one: str, other: str) -> bool:
    """`Topic.hasCollision`: metrics cannot tell `.` from `_`, so two topics may not differ in that alone."""
    return one.replace(".", "_") == other.replace(".", "_")
