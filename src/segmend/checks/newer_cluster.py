"""The log dirs belong to a newer kind of cluster than this release can join."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.metadata_log import UNKNOWN_LEVEL
from segmend.broker.old_identity import READING, UNRECOGNIZED_VERSION, Reading
from segmend.findings import Finding
from segmend.formats.meta_properties import FILE_NAME
from segmend.formats.names import CLUSTER_METADATA
from segmend.logdir.release import release_of_level

from .context import BrokerContext
from .levels import Level, Scope
from .manual import ERROR, REFUSES, Code, Page

CODES = (
    Code(
        "K21",
        ERROR,
        "meta.properties or the cluster's metadata.version is newer than this release knows",
        REFUSES,
    ),
)
PAGE = Page(
    meaning="""
        A broker was downgraded after the cluster's features were upgraded, a disk was moved back to a
        ZooKeeper broker, or `--kafka` names the wrong release.""",
    broker="""
        It does not start: before 2.8 it knows version 0 of meta.properties only, and no release reads a
        metadata log whose metadata.version it does not know.""",
    advice="Start at least the release that the finding names.",
    kafka="BrokerMetadataCheckpoint, MetadataVersion.fromFeatureLevel, KIP-584, KIP-778.",
)
SCOPE = Scope.BROKER
LEVEL = Level.STARTUP

_FEATURE = "metadata.version"


def run(broker: BrokerContext, context: BrokerContext) -> Iterator[Finding]:
    """The version of each meta.properties, and the cluster's level."""
    for log_dir in broker.dirs:
        own = broker.of(log_dir)
        value = own.identity.value
        newer = value is not None and value.version == 1
        if newer and READING.of(context.release) == Reading.STRICT:
            yield own.finding(
                "K21",
                f"version 1 of {FILE_NAME}, which Kafka {context.release} cannot read; 2.8 or later can",
                file=FILE_NAME,
                broker_says=UNRECOGNIZED_VERSION.say(context.release, 1),
            )
    image, home = context.broker_dirs.metadata, context.broker_dirs.metadata_dir
    level = image.features.get(_FEATURE, 0) if image else 0
    if home and level and context.release < release_of_level(level):
        yield broker.of(home).finding(
            "K21",
            f"the cluster has metadata.version {level}, which Kafka {context.release} does not know; "
            f"{release_of_level(level)} or later does",
            file=CLUSTER_METADATA,
            broker_says=UNKNOWN_LEVEL.say(context.release, level),
        )
