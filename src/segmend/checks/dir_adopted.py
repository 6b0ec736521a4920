"""A directory that the broker takes for a partition although it is none."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.findings import Finding
from segmend.formats.names import MAX_TOPIC_LENGTH, is_legal_topic
from segmend.logdir.partition_dir import PartitionDir

from .context import PartitionContext
from .manual import NONE, WARNING, Code, Level, Page, Scope

CODES = (
    Code("N02", WARNING, "a foreign directory with a partition's name: the broker makes segments inside it",
         NONE, explains=("N11",)),
    Code("N25", WARNING, "a topic name longer than 249 characters: no topic can be called so", NONE,
         explains=("N11",)),
)  # fmt: skip
PAGE = Page(
    meaning="""
        `backup-7` or `.Trash-1000` ends in a dash and a number, which is all a broker asks for. It does not
        test whether the topic's name is legal.""",
    broker="""
        It loads the directory as a partition and creates an empty segment in it. In KRaft mode it then
        renames it to `-stray`, since no such topic exists.""",
    advice="Move the directory out of the log dir.",
    kafka="UnifiedLog.parseTopicPartitionName, Topic.validate (never called while loading).",
)
SCOPE = Scope.PARTITION
LEVEL = Level.STARTUP


def run(partition: PartitionDir, context: PartitionContext) -> Iterator[Finding]:
    if partition.kind != "current":
        return
    if len(partition.topic) > MAX_TOPIC_LENGTH:
        message = f"the topic's name has {len(partition.topic)} characters; Kafka allows {MAX_TOPIC_LENGTH}"
        yield context.finding("N25", message, remedy=context.set_aside())
    elif reason := _foreign(partition):
        message = f"{reason}, but a broker takes the directory for partition {partition.partition}"
        message += f" of a topic {partition.topic!r}"
        yield context.finding("N02", message, remedy=context.set_aside())


def _foreign(partition: PartitionDir) -> str | None:
    if not is_legal_topic(partition.topic):
        return "no topic can have this name"
    names = partition.layout
    ours = names.logs or names.known or names.index or names.snapshots or names.shadowed or names.swap
    if not ours and (names.foreign or names.directories):
        return "nothing in it is Kafka's"
    return None
