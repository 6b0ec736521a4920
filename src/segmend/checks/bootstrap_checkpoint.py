"""The bootstrap.checkpoint of a KRaft node, which each of its starts reads, tells no metadata.version."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.metadata_log import READS_BOOTSTRAP
from segmend.findings import Finding, Where
from segmend.formats.names import BOOTSTRAP_CHECKPOINT
from segmend.logdir.log_dir import LogDir
from segmend.node.bootstrap import bootstrap_failure

from . import remedies
from .context import DirContext
from .manual import ERROR, REFUSES, Code, Level, Page, Scope

CODES = (Code("K26", ERROR, "bootstrap.checkpoint tells no metadata.version", REFUSES),)
PAGE = Page(
    meaning="""
        `kafka-storage.sh format` writes the file beside the metadata log: the records with which the cluster
        begins, metadata.version among them. It is empty, torn, or another file, or one of its records cannot
        be read, whatever it is about.""",
    broker="""
        the process ends over it at every start, although it needs nothing of it once the cluster has records
        of its own. A node without the file starts.""",
    advice="""
        Set the file aside. In a node whose `__cluster_metadata-0` has no records either, write it anew first:
        `kafka-storage.sh format --ignore-formatted`.""",
    kafka="BootstrapDirectory.read, BootstrapMetadata.fromRecords, KIP-778 (3.3).",
)
SCOPE = Scope.DIR
LEVEL = Level.STARTUP


def run(log_dir: LogDir, context: DirContext) -> Iterator[Finding]:
    """In the dir of the metadata log, the only one where it is read; raises `Unreadable`."""
    broker, file = context.broker_dirs, log_dir.bootstrap
    if file is None or not READS_BOOTSTRAP.of(context.release):
        return
    if not broker.kraft or broker.metadata_dir is not log_dir:
        return
    file.read(1)  # What refuses to be read is told as that.
    failure = bootstrap_failure(file)
    if failure is None:
        return
    yield context.finding(
        "K26",
        "a record in it cannot be read, or none has a level of metadata.version: the broker does not start",
        Where(BOOTSTRAP_CHECKPOINT),
        broker_says=failure,
        remedy=remedies.set_aside(context.path, BOOTSTRAP_CHECKPOINT),
    )
