"""The settings that retention goes by, each with where it comes from, and whether that is sure.

A topic's own (in `__cluster_metadata`, in ZooKeeper not on this disk) win over the broker's
dynamic ones, these over server.properties, this over Kafka's defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from segmend.broker.cleaner import BACKOFF_MS
from segmend.broker.cleanup_policy import COMPACTED_TOPICS, POLICY, policies_in
from segmend.broker.remote_storage import ENABLED, METADATA_TOPIC, SYSTEM_ENABLED, RemoteStorage
from segmend.broker.retention import (
    CHECK_INTERVAL_MS,
    COPY_CAN_BE_DISABLED,
    FIRST_LOOK_CAN_BE_SET,
    FIRST_LOOK_SECONDS,
    Limits,
)
from segmend.formats.config_values import boolean, long_integer
from segmend.formats.names import SHARE_GROUP_STATE
from segmend.frozen import as_dict, field, frozen
from segmend.logdir.config import ServerConfig
from segmend.logdir.release import NEWEST

_NEVER_REMOTE = (*COMPACTED_TOPICS, SHARE_GROUP_STATE, METADATA_TOPIC)
_LOCAL = {"retention.ms": "local.retention.ms", "retention.bytes": "local.retention.bytes"}
_SAME_AS_TOTAL = -2
_FIRST_DELAY = "log.initial.task.delay.ms"
_CHECK_INTERVAL = "log.retention.check.interval.ms", CHECK_INTERVAL_MS
_BACKOFF = "log.cleaner.backoff.ms", BACKOFF_MS


class Origin(StrEnum):
    """Where a setting comes from. The list is closed."""

    TOPIC = "topic"
    BROKER = "broker-dynamic"
    FILE = "server.properties"
    DEFAULT = "default"
    INTERNAL = "internal-topic"


@frozen
class TopicSettings:
    """The own settings of topics, known from elsewhere than the log dirs; `source` says where from.

    `replicas` are the replicas and the ISR of (topic, partition), where that is told as well.
    """

    of: Mapping[str, Mapping[str, str]]
    source: str
    replicas: Mapping[tuple[str, int], tuple[tuple[int, ...], tuple[int, ...]]] = field(default_factory=dict)


@frozen
class Known:
    """Which settings have been seen: the topic's own, the broker's dynamic ones, server.properties.

    `topic_source` is where the topic's own stand.
    """

    topic: bool = True
    dynamic: bool = True
    broker: bool = True
    topic_source: str = "in __cluster_metadata"


@frozen
class Setting:
    """`name` as a topic's setting is called. `known`: nothing that was not seen may say otherwise."""

    name: str
    value: str
    source: str
    origin: Origin = Origin.DEFAULT
    known: bool = True

    def to_json(self) -> dict[str, object]:
        """The object under its name in `settings`."""
        return {name: value for name, value in as_dict(self).items() if name != "name"}


@frozen
class Retention:
    """The settings of one topic. `remote`: a segment goes only after it was copied to remote storage.

    `storage` is what the broker makes of the segments that are there already.
    """

    settings: tuple[Setting, ...]
    remote: bool = False
    storage: RemoteStorage = RemoteStorage.NONE
    delay_ms: int = FIRST_LOOK_SECONDS * 1000
    check_interval_ms: int = CHECK_INTERVAL_MS
    cleaner_runs: bool = True
    limits: Limits = field(init=False, compare=False, repr=False)
    """As `deleteOldSegments` takes the settings; made once for all partitions of the topic."""

    def __post_init__(self) -> None:
        policies = policies_in(self.value("cleanup.policy"))
        limits = Limits(
            retention_ms=int(self.value("retention.ms")),
            retention_bytes=int(self.value("retention.bytes")),
            delete="delete" in policies,
            compact="compact" in policies,
            looked_at=self.cleaner_runs or "compact" not in policies,
            remote=self.remote,
        )
        object.__setattr__(self, "limits", limits)

    def value(self, name: str) -> str:
        return next(each.value for each in self.settings if each.name == name)

    @property
    def known(self) -> bool:
        """Whether all of them are what the broker goes by."""
        return all(each.known for each in self.settings)

    @property
    def first_look_ms(self) -> int:
        """How long after the start somebody looks: the cleaner, or where there is no compact another task.

        The first look of the cleaner comes before the broker leads anything: only what lies below the log
        start offset goes then. The second one comes at the latest so much later.
        """
        return self.check_interval_ms if self.limits.compact else self.delay_ms


@frozen
class Sources:
    """All places a setting may come from."""

    config: ServerConfig
    topic: Mapping[str, str] = field(default_factory=dict)
    dynamic: Mapping[str, str] = field(default_factory=dict)
    known: Known = Known()

    def of(self, name: str, key: str, default: str) -> Setting:
        """One that the topic calls `name` and the broker `key`."""
        if name in self.topic:
            return self._own(name, self.topic[name])
        if key in self.dynamic:
            return self._changed(name, key, self.dynamic[key])
        if key in self.config.given:
            value = self.config.given[key]
            return self._given(name, value, f"server.properties: {key}={value}")
        return self._given(name, default, "Kafka's default")

    def policy(self, topic: str) -> Setting:
        """`cleanup.policy` of the topic of that name; it may be empty."""
        if topic in COMPACTED_TOPICS and "cleanup.policy" not in self.topic:
            return Setting(
                name="cleanup.policy", value="compact", source="the broker makes this topic so",
                origin=Origin.INTERNAL, known=self.known.topic,
            )  # fmt: skip
        return self.of("cleanup.policy", POLICY, "delete")

    def number(self, name: str, *, remote: bool) -> Setting:
        """One of the limits: the local one where segments are copied to remote storage."""
        if remote:
            local = _LOCAL[name]
            own = self._long(local, f"log.{local}")
            if own is not None and int(own.value) != _SAME_AS_TOTAL:
                return Setting(
                    name=name, value=own.value, source=f"{local}: {own.source}", origin=own.origin,
                    known=own.known,
                )  # fmt: skip
        own = self._long(name, f"log.{name}", in_file=False)
        return own or self._given(name, str(self.config.number(name)), self.config.source(name))

    def _long(self, name: str, key: str, *, in_file: bool = True) -> Setting | None:
        own = long_integer(self.topic.get(name))
        if own is not None:
            return self._own(name, str(own))
        value = long_integer(self.dynamic.get(key))
        if value is not None:
            return self._changed(name, key, str(value))
        value = long_integer(self.config.given.get(key)) if in_file else None
        if value is None:
            return None
        return self._given(name, str(value), f"server.properties: {key}={value}")

    def _own(self, name: str, value: str) -> Setting:
        source = f"the topic's own, {self.known.topic_source}"
        return Setting(name=name, value=value, source=source, origin=Origin.TOPIC)

    def _changed(self, name: str, key: str, value: str) -> Setting:
        """One of the broker that was changed while it ran."""
        source = f"dynamic setting of the broker, in __cluster_metadata: {key}={value}"
        return Setting(name=name, value=value, source=source, origin=Origin.BROKER, known=self.known.topic)

    def _given(self, name: str, value: str, source: str) -> Setting:
        """That of server.properties or, where it has none, of Kafka."""
        seen = source != "Kafka's default"
        return Setting(
            name=name, value=value, source=source, origin=Origin.FILE if seen else Origin.DEFAULT,
            known=self.known.topic and self.known.dynamic and self.known.broker
            and not self.config.is_provided(f"log.{name}"),
        )  # fmt: skip


def retention_of(sources: Sources, name: str) -> Retention:
    """What applies to the topic `name`."""
    config, policy = sources.config, sources.policy(name)
    storage = _storage(sources, name, policy)
    remote = storage is RemoteStorage.USED and _is_copied(sources)
    compacts = "compact" in policies_in(policy.value)
    key, usual = _BACKOFF if compacts else _CHECK_INTERVAL
    interval = long_integer(config.given.get(key))
    delay = long_integer(config.given.get(_FIRST_DELAY))
    if delay is None or delay < 0 or not FIRST_LOOK_CAN_BE_SET.of(config.release or NEWEST):
        delay = FIRST_LOOK_SECONDS * 1000
    return Retention(
        settings=(policy, *(sources.number(each, remote=remote) for each in _LOCAL)), remote=remote,
        storage=storage, delay_ms=delay, check_interval_ms=interval if interval and interval > 0 else usual,
        cleaner_runs=config.cleaner_runs,
    )  # fmt: skip


def _storage(sources: Sources, name: str, policy: Setting) -> RemoteStorage:
    """`UnifiedLog.isRemoteLogEnabled`; where no file tells, it is on: else there was no such topic."""
    if (
        not boolean(sources.topic.get(ENABLED))
        or "compact" in policies_in(policy.value)
        or name in _NEVER_REMOTE
    ):
        return RemoteStorage.NONE
    known = sources.known.broker and not sources.config.is_provided(SYSTEM_ENABLED)
    told = sources.config.given.get(SYSTEM_ENABLED, "false") if known else "true"
    return RemoteStorage.USED if boolean(told) else RemoteStorage.UNUSED


def _is_copied(sources: Sources) -> bool:
    """Whether more segments are copied there (`UnifiedLog.remoteLogEnabledAndRemoteCopyEnabled`)."""
    stopped = boolean(sources.topic.get("remote.log.copy.disable"))
    return not (stopped and COPY_CAN_BE_DISABLED.of(sources.config.release or NEWEST))
