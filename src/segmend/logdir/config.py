"""server.properties, and Kafka's defaults for the few settings that the layout of a disk depends on.

Follows `LogConfig` and `KafkaConfig`. Only what segmend needs is here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from segmend.formats import java_properties
from segmend.formats.config_values import boolean, integer, long_integer
from segmend.frozen import field, frozen
from segmend.logdir import disk
from segmend.logdir.release import Release

_DAY_MS = 24 * 3600 * 1000
DEFAULTS: Mapping[str, int] = {
    "log.segment.bytes": 1 << 30,
    "log.index.size.max.bytes": 10 << 20,
    "log.index.interval.bytes": 4096,
    "log.roll.ms": 7 * _DAY_MS,
    "log.retention.ms": 7 * _DAY_MS,
    "log.retention.bytes": -1,
    "log.segment.delete.delay.ms": 60_000,
    "log.cleaner.delete.retention.ms": _DAY_MS,
    "num.recovery.threads.per.data.dir": 1,
    "replica.high.watermark.checkpoint.interval.ms": 5000,
    "offsets.retention.minutes": 24 * 60,
}
"""Broker settings and their defaults, the same from 0.8 on but for `_CHANGED`; in bytes and milliseconds
where their names have no unit."""

_CHANGED = {
    "num.recovery.threads.per.data.dir": ((4, 0), 2),
    "offsets.retention.minutes": ((2, 0), 7 * 24 * 60),
}
_TOPIC_NAMES = {
    "segment.bytes": "log.segment.bytes",
    "segment.index.bytes": "log.index.size.max.bytes",
    "index.interval.bytes": "log.index.interval.bytes",
    "segment.ms": "log.roll.ms",
    "retention.ms": "log.retention.ms",
    "retention.bytes": "log.retention.bytes",
    "file.delete.delay.ms": "log.segment.delete.delay.ms",
    "delete.retention.ms": "log.cleaner.delete.retention.ms",
}
_LONGER_UNITS = {
    "log.retention.ms": (("log.retention.minutes", 60_000), ("log.retention.hours", 3_600_000)),
    "log.roll.ms": (("log.roll.hours", 3_600_000),),
}
_RESOLVES = (2, 3)
_VARIABLE = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?[^}]*\}")


@frozen
class ServerConfig:
    """A broker's settings: those given, and Kafka's defaults for `release` for the rest.

    `malformed` are Java's words on a file that is no properties file, at which the process ends.
    """

    given: Mapping[str, str] = field(default_factory=dict)
    release: Release | None = None
    malformed: str | None = None

    @classmethod
    def load(cls, path: str, release: Release | None = None) -> ServerConfig:
        """Read a server.properties file; raises `Unreadable`."""
        properties, damages = java_properties.parse(disk.read(path))
        malformed = damages[0].reason if damages else None
        return cls(given=properties.as_dict(), release=release, malformed=malformed)

    @property
    def provided(self) -> dict[str, str]:
        """The settings whose values the broker has from a config provider (KIP-421), as they are written.

        Releases before 2.3 take them as they stand (`AbstractConfig.resolveConfigVariables`), and all do so
        with what names no provider that there is (`ConfigTransformer`).
        """
        there = self.release is None or self.release >= _RESOLVES
        known = {each.strip() for each in self.given.get("config.providers", "").split(",") if there} - {""}
        if not known:  # as mostly: this is asked for each setting
            return {}
        return {
            name: value
            for name, value in self.given.items()
            if "${" in value and any(match[1] in known for match in _VARIABLE.finditer(value))
        }

    @property
    def provider_files(self) -> dict[str, str]:
        """The files that Kafka's own providers read as the broker starts, and a setting from each."""
        own = ("FileConfigProvider", "DirectoryConfigProvider")
        return {
            match[2]: name
            for name, value in self.provided.items()
            for match in _VARIABLE.finditer(value)
            if match[2] and self.given.get(f"config.providers.{match[1]}.class", "").strip().endswith(own)
        }

    def is_provided(self, name: str) -> bool:
        return not self.provided.keys().isdisjoint(key for key, _ in _written(name))

    @property
    def log_dir_entries(self) -> tuple[str, ...]:
        """`log.dirs`, or `log.dir`, or /tmp/kafka-logs, as it is written: also what is empty.

        Nothing where a provider tells them, for one value may name several.
        """
        name = "log.dirs" if "log.dirs" in self.given else "log.dir"
        if name in self.provided:
            return ()
        return tuple(part.strip() for part in self.given.get(name, "/tmp/kafka-logs").split(","))

    @property
    def log_dirs(self) -> tuple[str, ...]:
        """The same as the broker takes it."""
        return tuple(part for part in self.log_dir_entries if part)

    @property
    def all_dirs(self) -> tuple[str, ...]:
        """All dirs of the broker, each once: `log.dirs`, and `metadata.log.dir` if it is another one."""
        apart = self.metadata_log_dir
        return tuple(dict.fromkeys((*self.log_dirs, *([apart] if apart else []))))

    @property
    def metadata_log_dir(self) -> str | None:
        """Where `__cluster_metadata-0` may be: `metadata.log.dir`, or the first of the log dirs.

        A name that is empty is one to the broker; None where it is not told.
        """
        if "metadata.log.dir" in self.provided:
            return None
        given = self.given.get("metadata.log.dir")
        return next(iter(self.log_dirs), None) if given is None else given.strip()

    @property
    def node_id(self) -> int | None:
        """`node.id`, or `broker.id`; a negative one stands for none."""
        text = self.given.get("node.id") or self.given.get("broker.id")
        number = integer(text)
        return None if number is not None and number < 0 else number

    @property
    def voters(self) -> frozenset[int] | None:
        """The ids in `controller.quorum.voters`; None where the voters are kept in the log (KIP-853)."""
        entries = self.given.get("controller.quorum.voters", "").split(",")
        ids = {integer(entry.partition("@")[0]) for entry in entries}
        return frozenset(voter for voter in ids if voter is not None) or None

    @property
    def cleaner_runs(self) -> bool:
        return boolean(self.given.get("log.cleaner.enable")) is not False

    def number(self, name: str) -> int:
        """A setting of `DEFAULTS` by its broker name or its topic name (`segment.bytes`)."""
        name = _TOPIC_NAMES.get(name, name)
        given = self._given(name)
        if given is not None:
            return given
        changed = _CHANGED.get(name)
        if changed and self.release is not None and self.release >= changed[0]:
            return changed[1]
        return DEFAULTS[name]

    def source(self, name: str) -> str:
        """Where `number(name)` comes from, for people: the line of server.properties, or the default."""
        name = _TOPIC_NAMES.get(name, name)
        for key, _ in _written(name):
            if long_integer(self.given.get(key)) is not None:
                return f"server.properties: {key}={self.given[key].strip()}"
        return "Kafka's default"

    def _given(self, name: str) -> int | None:
        for key, unit in _written(name):
            value = long_integer(self.given.get(key))
            if value is not None:
                return value * unit if value > 0 else value
        return None


def _written(name: str) -> tuple[tuple[str, int], ...]:
    """The names that a setting of brokers has, the one that counts most first, and their units."""
    return ((name, 1), *_LONGER_UNITS.get(name, ()))
