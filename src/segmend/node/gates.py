"""What ends a start because of the release alone, before any log is loaded.

Follows `KafkaConfig`, then `MetadataLoader`, then `LogManager.startup`, which parses every topic's settings.
"""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.authorizer import (
    BY_ADDRESS,
    BY_OTHERS,
    BY_ZOOKEEPER,
    NOT_LET_IN,
    REGISTERING,
    Admission,
    admission,
    asks_zookeeper,
)
from segmend.broker.gates import metadata_refusals, migration_refusal, topic_refusals
from segmend.broker.log_dirs import list_refusal
from segmend.broker.server_listeners import ROLES
from segmend.broker.server_odds import shut_out_by
from segmend.broker.server_parts import part_refusals
from segmend.broker.server_rules import server_refusals
from segmend.broker.settings import Refused
from segmend.logdir.config import ServerConfig
from segmend.node.broker_dirs import BrokerDirs


def refused_server(broker: BrokerDirs) -> str | None:
    """Kafka's words on server.properties, as far as it was given and the release refuses it."""
    return next(server_reasons(broker), None)


def server_reasons(broker: BrokerDirs) -> Iterator[str]:
    """All of it; of a file that cannot be parsed there is nothing else to say."""
    if broker.given is not None and broker.given.malformed:
        yield broker.given.malformed
    elif broker.given is not None:
        yield from server_refusals(broker.given.given, broker.release)
        yield from part_refusals(broker.given, broker.release)
        yield from filter(None, [_list_refusal(broker, broker.given)])


def _list_refusal(broker: BrokerDirs, given: ServerConfig) -> str | None:
    """Kafka's words on the list of its log dirs."""
    home = given.metadata_log_dir if broker.kraft else None
    listed = [broker.place(path) for path in given.log_dirs]
    apart = broker.place(home) if home else None
    return list_refusal(given.log_dir_entries, listed, apart, broker.release)


def refused_metadata(broker: BrokerDirs) -> str | None:
    """Kafka's words on the cluster's metadata on these dirs, or on the settings of a topic in it."""
    return next(metadata_reasons(broker), None)


def metadata_reasons(broker: BrokerDirs) -> Iterator[str]:
    """All of it: the metadata first, for no topic is known without it."""
    image = broker.image
    if image is None:
        return
    given = broker.config.given
    yield from metadata_refusals(image, broker.metadata_records, broker.release, given)
    migrates = migration_refusal(image, broker.release, given)
    if migrates and broker.others == ():
        yield migrates
    refused = refused_topics(broker)
    for topic, setting in refused.items():
        yield f"{setting.said} (topic {topic}{others(len(refused) - 1)})"


def shut_out(broker: BrokerDirs) -> str | None:
    """Why the broker is never registered: its own controller, the only one, does not let it in."""
    roles = broker.config.given.get(ROLES, "")
    if broker.others != () or "broker" not in roles:
        return None
    if _admission(broker) == Admission.NO:
        return NOT_LET_IN.format(REGISTERING.of(broker.release))
    return next(shut_out_by(broker.config, broker.release), None) if "controller" in roles else None


def perhaps_shut_out(broker: BrokerDirs) -> Iterator[str]:
    """Where other files than these tell whether it is let in."""
    if not broker.kraft:
        if asks_zookeeper(broker.config.given):
            yield BY_ZOOKEEPER
        return
    admitted = _admission(broker)
    if admitted == Admission.BY_ADDRESS:
        yield BY_ADDRESS
    elif admitted == Admission.NO and broker.others != ():
        yield BY_OTHERS


def _admission(broker: BrokerDirs) -> Admission:
    given = broker.config
    asked = {name: value for name, value in given.given.items() if name not in given.provided}
    acls = () if broker.image is None else broker.image.acls.values()
    return admission(asked, acls, broker.release)


def ends_elected(broker: BrokerDirs) -> Iterator[str]:
    """What ends it if it is elected to lead the metadata, where others may be."""
    said = broker.image and migration_refusal(broker.image, broker.release, broker.config.given)
    if said and broker.others != ():
        yield f"whether it is elected as the controller, and ends then: {said}"


def refused_topics(broker: BrokerDirs) -> dict[str, Refused]:
    image = broker.image
    if image is None:
        return {}
    retention = {name: broker.config.number(name) for name in ("retention.ms", "retention.bytes")}
    return dict(topic_refusals(image, broker.release, retention))


def others(number: int) -> str:
    return f", and {number} others" if number > 1 else ", and 1 other" if number else ""
