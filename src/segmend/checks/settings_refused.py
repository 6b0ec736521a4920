"""Settings that this release refuses: the broker ends before it loads a log."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.server_rules import server_refusals
from segmend.findings import Finding
from segmend.formats.names import CLUSTER_METADATA
from segmend.node.gates import refused_topics

from . import remedies
from .context import BrokerContext
from .levels import Level, Scope
from .manual import ERROR, REFUSES, Code, Page

CODES = (
    Code("K22", ERROR, "a setting that this release refuses: of a topic, or in server.properties", REFUSES),
)
PAGE = Page(
    meaning="""
        Releases narrow what they take: from 4.1 on no topic may have `segment.bytes` below 1 MiB (from 4.0 on
        no server.properties `log.segment.bytes`), from 3.0 on `flush.messages` may not be 0. What was set
        before stays in the cluster's metadata.""",
    broker="""
        It parses every topic's settings before it loads its first log, also of topics that are on other
        brokers only, and ends at the first value that it refuses.""",
    advice="""
        Change the setting while the release that takes it still runs (`kafka-configs.sh --alter`); nothing
        else needs to be done. `segmend forecast --kafka RELEASE` says what another release would refuse.""",
    kafka="LogConfig, KafkaConfig, ConfigDef; KIP-1030 (4.0).",
)
SCOPE = Scope.BROKER
LEVEL = Level.STARTUP
_NAMED = 3
"""So many topics are named."""


def run(broker: BrokerContext, context: BrokerContext) -> Iterator[Finding]:
    """One for each thing that is said of topics, one for each of server.properties."""
    dirs, home = context.broker_dirs, context.broker_dirs.metadata_dir
    if home is None:
        return
    topics: dict[str, list[str]] = {}
    for topic, said in refused_topics(dirs).items():
        topics.setdefault(said, []).append(topic)
    remedy = remedies.advice("kafka-configs.sh --bootstrap-server BROKER --alter --entity-type topics ...")
    for said, named in topics.items():
        more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        message = (
            f"settings of topic {', '.join(named[:_NAMED])}{more} are refused by Kafka {context.release}"
        )
        yield broker.of(home).finding("K22", message, file=CLUSTER_METADATA, broker_says=said, remedy=remedy)
    for said in () if dirs.given is None else server_refusals(dirs.given.given, context.release):
        message = f"server.properties is refused by Kafka {context.release}"
        yield broker.of(home).finding("K22", message, broker_says=said)
