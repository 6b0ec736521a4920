"""The log dirs belong to a newer kind of cluster than this release can join."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.features import METADATA_VERSION, level_name, supported
from segmend.broker.gates import metadata_refusals
from segmend.broker.old_identity import READING, UNRECOGNIZED_VERSION, Reading
from segmend.findings import Finding, Where
from segmend.formats.meta_properties import FILE_NAME
from segmend.formats.names import CLUSTER_METADATA
from segmend.logdir.release import release_of_level

from .context import BrokerContext
from .manual import ERROR, REFUSES, Code, Level, Page, Scope

CODES = (
    Code("K21", ERROR,
         "meta.properties or the cluster's metadata is of a version that this release does not know",
         REFUSES),
)  # fmt: skip
PAGE = Page(
    meaning="""
        A broker was downgraded after the cluster's features were upgraded, or upgraded to 4.0 before
        metadata.version was 3.3-IV3; a disk was moved back to a ZooKeeper broker, or `--kafka` names the
        wrong release.""",
    broker="""
        It does not start: before 2.8 it knows version 0 of meta.properties only, and no release reads a
        metadata log whose metadata.version it does not know.""",
    advice="Start at least the release that the finding names; `segmend explain upgrade` tells of a pair.",
    kafka="BrokerMetadataCheckpoint, MetadataVersion.fromFeatureLevel, KIP-584, KIP-778.",
)
SCOPE = Scope.BROKER
LEVEL = Level.STARTUP


def run(broker: BrokerContext, context: BrokerContext) -> Iterator[Finding]:
    """The version of each meta.properties, and the cluster's levels and records."""
    for log_dir in broker.dirs:
        own = broker.of(log_dir)
        value = own.identity.value
        newer = value is not None and value.version == 1
        if newer and READING.of(context.release) == Reading.STRICT:
            yield own.finding(
                "K21",
                f"version 1 of {FILE_NAME}, which Kafka {context.release} cannot read; 2.8 or later can",
                Where(FILE_NAME),
                broker_says=UNRECOGNIZED_VERSION.say(context.release, 1),
            )
    dirs = context.broker_dirs
    image, home = dirs.metadata, dirs.metadata_dir
    given = dirs.config.given
    said = image and next(metadata_refusals(image, dirs.metadata_records, context.release, given), None)
    if image and home and said:
        level, range_ = image.features.get(METADATA_VERSION, 0), supported(METADATA_VERSION, context.release)
        message = f"Kafka {context.release} cannot read this cluster's metadata"
        if range_ is not None and level < range_.lowest:
            message += f": metadata.version {level_name(level)} is below {level_name(range_.lowest)}"
        elif level:
            message += (
                f": metadata.version {level_name(level)}, which {release_of_level(level)} or later knows"
            )
        yield broker.of(home).finding("K21", message, Where(CLUSTER_METADATA), broker_says=said)
