"""A KRaft node whose copy of the cluster's metadata is older than its logs."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from segmend.findings import Finding, Severity, Where
from segmend.formats.names import CLUSTER_METADATA
from segmend.node.older import IDS, OWN, Name, ahead, given_again, newest_of_topic, told

from . import remedies
from .context import BrokerContext
from .manual import ERROR, LOSES, Code, Level, Page, Scope

CODES = (
    Code(
        "K25", ERROR, "the cluster's metadata on this disk is older than the logs", LOSES, explains=("M07",)
    ),
)
PAGE = Page(
    meaning="""
        A log had a leader, or a producer an id, of which the metadata on the same node's disks knows nothing,
        although both are written there first: `__cluster_metadata-0` was restored from a backup, or is a
        copy that went no further. Topics, settings and users made since are missing as well.""",
    broker="""
        A node that is the only voter goes by it: topics that it does not know become strays, and producer
        ids are given out again. A new producer with the id of an old one is refused (OUT_OF_ORDER_SEQUENCE),
        or its first batch is taken for the last one of the old producer: acknowledged, and not written.""",
    more="With other voters it fetches what it lacks from them first, if they have it.",
    advice="""
        Bring newer metadata back before the node starts: its own as it was before the restore, or another
        voter's (`plan quorum --from`).""",
    kafka="ProducerIdControlManager, ProducerStateEntry.findDuplicateBatch, LogManager.isStrayKraftReplica.",
)
SCOPE = Scope.BROKER
LEVEL = Level.STARTUP


def run(broker: BrokerContext, context: BrokerContext) -> Iterator[Finding]:
    """One finding; of logs that are this node's by the metadata. A line of epochs may itself be wrong."""
    dirs = context.broker_dirs
    image, home = dirs.image, dirs.metadata_dir
    if image is None or home is None or broker.of(home).running:
        return
    log = dirs.own_metadata_log
    if log is not None and log.has_unread:
        return  # What it lacks may be there: K29 tells of what cannot be read.
    mine = {
        name: same[0]
        for name, same in context.current.items()
        if image.assigned(*name, dirs.node_id) and same[0].topic_id == image.ids[name[0]]
    }
    epochs = {name: newest_of_topic(partition, image) for name, partition in mine.items()}
    producers = {name: partition.newest_snapshot[0] for name, partition in mine.items()}
    again = given_again(producers, image)
    for message in _told({OWN: ahead(epochs, image), IDS: again}):
        yield broker.of(home).finding(
            "K25",
            message,
            Where(CLUSTER_METADATA),
            remedy=remedies.play(*(log_dir.path for log_dir in broker.dirs)),
            severity=Severity.ERROR if again else Severity.WARNING,
        )


def _told(names_by_sentence: Mapping[str, Collection[Name]]) -> Iterator[str]:
    """Both in one message."""
    words = [each for sentence, names in names_by_sentence.items() for each in told(sentence, names)]
    if words:
        yield "; ".join(words)
