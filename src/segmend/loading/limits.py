"""The settings that retention goes by, each with where it comes from.

A topic's own (in `__cluster_metadata`, in ZooKeeper not on this disk) win over the broker's
dynamic ones, these over server.properties, this over Kafka's defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from segmend.broker.retention import Limits
from segmend.formats.java_number import parse_long
from segmend.frozen import frozen
from segmend.logdir.config import ServerConfig

_COMPACTED = ("__consumer_offsets", "__transaction_state")
_LOCAL = {"retention.ms": "local.retention.ms", "retention.bytes": "local.retention.bytes"}
_SAME_AS_TOTAL = -2


@frozen
class Setting:
    """`name` as a topic's setting is called."""

    name: str
    value: str
    source: str


@frozen
class Retention:
    """The settings of one topic. `remote`: a segment goes only after it was copied to remote storage."""

    settings: tuple[Setting, ...]
    remote: bool = False

    def value(self, name: str) -> str:
        """One of the settings."""
        return next(each.value for each in self.settings if each.name == name)

    @property
    def limits(self) -> Limits:
        """As `deleteOldSegments` takes them."""
        return Limits(
            retention_ms=int(self.value("retention.ms")),
            retention_bytes=int(self.value("retention.bytes")),
            delete="delete" in self.value("cleanup.policy"),
        )


def retention_of(
    config: ServerConfig, topic: Mapping[str, str], name: str, dynamic: Mapping[str, str] | None = None
) -> Retention:
    """What applies to the topic `name` with its own settings `topic`."""
    remote = topic.get("remote.storage.enable") == "true"
    numbers = [_number(config, topic, dynamic or {}, each, remote) for each in _LOCAL]
    return Retention(settings=(policy_of(config, topic, name, dynamic), *numbers), remote=remote)


def policy_of(
    config: ServerConfig, topic: Mapping[str, str], name: str, dynamic: Mapping[str, str] | None = None
) -> Setting:
    """`cleanup.policy` of the topic `name`."""
    if name in _COMPACTED and not topic.get("cleanup.policy"):
        return Setting(name="cleanup.policy", value="compact", source="the broker makes this topic so")
    return setting_of(config, topic, dynamic or {}, "cleanup.policy", "log.cleanup.policy", "delete")


def setting_of(
    config: ServerConfig,
    topic: Mapping[str, str],
    dynamic: Mapping[str, str],
    name: str,
    key: str,
    default: str,
) -> Setting:
    """The setting called `name` for topics and `key` for brokers."""
    if topic.get(name):
        return _of_topic(name, topic[name])
    if key in dynamic:
        return Setting(name=name, value=dynamic[key], source=_dynamic(key, dynamic))
    if config.given.get(key):
        source = f"server.properties: {key}={config.given[key]}"
        return Setting(name=name, value=config.given[key], source=source)
    return Setting(name=name, value=default, source="Kafka's default")


def _number(
    config: ServerConfig, topic: Mapping[str, str], dynamic: Mapping[str, str], name: str, remote: bool
) -> Setting:
    local = parse_long(topic.get(_LOCAL[name], "")) if remote else None
    if local is not None and local != _SAME_AS_TOTAL:
        return replace(
            _of_topic(name, str(local)), source=f"{_LOCAL[name]} of the topic, in __cluster_metadata"
        )
    own = parse_long(topic.get(name, ""))
    if own is not None:
        return _of_topic(name, str(own))
    key = f"log.{name}"
    changed = parse_long(dynamic.get(key, ""))
    if changed is not None:
        return Setting(name=name, value=str(changed), source=_dynamic(key, dynamic))
    return Setting(name=name, value=str(config.number(name)), source=config.source(name))


def _of_topic(name: str, value: str) -> Setting:
    return Setting(name=name, value=value, source="the topic's own, in __cluster_metadata")


def _dynamic(key: str, dynamic: Mapping[str, str]) -> str:
    return f"dynamic setting of the broker, in __cluster_metadata: {key}={dynamic[key]}"
