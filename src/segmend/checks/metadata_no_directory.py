"""What lies in the place of the metadata log, and is no directory."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.metadata_log import ALREADY_A_FILE
from segmend.findings import Finding, Safety, Where
from segmend.formats.names import CLUSTER_METADATA
from segmend.logdir.file_system import FOLDERS

from . import remedies
from .context import BrokerContext
from .manual import ERROR, REFUSES, Code, Level, Page, Scope

CODES = (Code("K27", ERROR, "what is called `__cluster_metadata-0` is no directory", REFUSES, always=True),)
PAGE = Page(
    meaning="""
        A KRaft node keeps the cluster's metadata in this directory. Here a file, a pipe or a link to
        nothing has its name, and the metadata is in none of the log dirs that were given.""",
    broker="it does not start.",
    advice="""
        Set it aside, or mount what the link leads to. Bring the metadata back before the node starts: a node
        that is the only voter starts with empty metadata otherwise, and takes every topic for a stray.""",
    kafka="KafkaRaftManager.createDataDir.",
)
SCOPE = Scope.BROKER
LEVEL = Level.STARTUP


def run(broker: BrokerContext, context: BrokerContext) -> Iterator[Finding]:
    home = context.broker_dirs.metadata_dir if context.broker_dirs.kraft else None
    if home is not None and home.entries.get(CLUSTER_METADATA, "dir") not in FOLDERS:
        yield broker.of(home).finding(
            "K27",
            "it is no directory, and the cluster's metadata is in none of these dirs",
            Where(CLUSTER_METADATA),
            broker_says=ALREADY_A_FILE.format(f"{home.path}/{CLUSTER_METADATA}"),
            remedy=remedies.set_aside(home.path, CLUSTER_METADATA, safety=Safety.ADVICE),
        )
