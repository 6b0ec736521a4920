"""Settings that this release refuses: the broker ends before it loads a log."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.settings import Refused
from segmend.findings import Finding, Where
from segmend.formats.names import CLUSTER_METADATA
from segmend.node.gates import refused_topics, server_reasons

from . import remedies
from .context import BrokerContext
from .manual import ERROR, REFUSES, Code, Level, Page, Scope

CODES = (
    Code("K22", ERROR, "a setting that this release refuses: of a topic, or in server.properties", REFUSES),
)
PAGE = Page(
    meaning="""
        Releases narrow what they take: from 4.1 on no topic may have `segment.bytes` below 1 MiB (from 4.0 on
        no server.properties `log.segment.bytes`), from 3.3 on `flush.messages` may not be 0. What was set
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
    topics: dict[Refused, list[str]] = {}
    for topic, refused in refused_topics(dirs).items():
        topics.setdefault(refused, []).append(topic)
    for refused, named in topics.items():
        more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        which = f"{', '.join(named[:_NAMED])}{more}"
        yield broker.of(home).finding(
            "K22",
            f"{refused.name} of topic {which} is refused by Kafka {context.release}",
            Where(CLUSTER_METADATA),
            broker_says=refused.said,
            remedy=remedies.unset(named[0], refused.name),
        )
    for said in server_reasons(dirs):
        message = f"server.properties is refused by Kafka {context.release}"
        yield broker.of(home).finding("K22", message, broker_says=said)
