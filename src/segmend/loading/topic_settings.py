"""Topics' own settings out of text: what `kafka-configs` or `kafka-topics --describe` prints, or properties.

Configs for topic 'orders' are retention.ms=1000,cleanup.policy=compact,delete       up to 2.4 (ZooKeeper)
Dynamic configs for topic orders are:                                                since 2.5
  retention.ms=1000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=1000}
Topic: orders  PartitionCount: 1  ReplicationFactor: 1  Configs: retention.ms=1000   kafka-topics
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from segmend.broker.settings import definitions
from segmend.errors import UsageError
from segmend.formats import java_properties
from segmend.formats.java_number import parse_long

SUFFIX = ".properties"
_HEADS = (
    re.compile(r"(?:Dynamic|All) configs for topic '?(?P<topic>[\w.-]+?)'? are:?\s*(?P<rest>.*)"),
    re.compile(r"Configs for topic[ :]\s*'?(?P<topic>[\w.-]+?)'? are:?\s*(?P<rest>.*)"),
    re.compile(r"Topic:\s*(?P<topic>[\w.-]+)\s.*\bConfigs:\s*(?P<rest>.*)"),
)
_PARTITION = re.compile(r"\s*Topic:\s*\S+\s+Partition:\s*\d+")
_SETTING = re.compile(r"\s+(?P<name>[\w.]+)=(?P<value>.*?)(?:\s+sensitive=\w+.*)?")
_NEXT = re.compile(r",(?=[a-z][\w.]*=)")
_NOTICE = re.compile(r"(?:\[\d|WARN|Warning|OpenJDK|SLF4J|Completed [Uu]pdating)|.* is deprecated")
_NUMBERS = ("SHORT", "INT", "LONG", "DOUBLE")


def topic_settings(text: str, path: str, stem: str) -> Mapping[str, Mapping[str, str]]:
    """By topic; properties are those of the topic `stem`. Raises `UsageError` with file and line."""
    lines = text.splitlines()
    if any(pattern.match(line) for line in lines for pattern in _HEADS):
        return _described(lines, path)
    properties, damages = java_properties.parse(text.encode("utf-8", "surrogateescape"))
    settings = dict(properties.as_dict())
    for name, value in settings.items():
        _check(name, value, path, _line_of(lines, name))
    if damages:
        raise UsageError(f"{path}: {damages[0].reason}")
    return {stem: settings}


def _described(lines: list[str], path: str) -> Mapping[str, Mapping[str, str]]:
    by_topic: dict[str, dict[str, str]] = {}
    topic = None
    for number, line in enumerate(lines, 1):
        head = next((each for each in (pattern.match(line) for pattern in _HEADS) if each), None)
        if head is not None:
            topic = head["topic"]
            pairs = _pairs(head["rest"])
        elif not line.strip() or _PARTITION.match(line) or _NOTICE.match(line):
            continue
        else:
            setting = _SETTING.fullmatch(line)
            if setting is None or topic is None:
                raise UsageError(f"{path}:{number}: no setting of a topic: {line.strip()[:60]}")
            pairs = iter([(setting["name"], setting["value"])])
        own = by_topic.setdefault(topic, {})
        for name, value in pairs:
            _check(name, value, path, number)
            own[name] = value
    return by_topic


def _pairs(text: str) -> Iterator[tuple[str, str]]:
    for part in _NEXT.split(text.strip()):
        name, equals, value = part.partition("=")
        if equals:
            yield name.strip(), value.strip()


def _line_of(lines: list[str], name: str) -> int:
    return next((n for n, line in enumerate(lines, 1) if line.strip().startswith(name)), 1)


def _check(name: str, value: str, path: str, line: int) -> None:
    """Refuse what no release knows as a topic's setting, and what is no number where one must be."""
    rule = definitions(topic=True).get(name)
    if rule is None:
        hint = name.removeprefix("log.")
        known = f" (topics call it {hint})" if hint != name and hint in definitions(topic=True) else ""
        raise UsageError(f"{path}:{line}: topics have no setting {name}{known}")
    kinds = {step.kind for _, step in rule.steps if step is not None}
    if kinds and kinds <= {*_NUMBERS} and "DOUBLE" not in kinds and parse_long(value.strip()) is None:
        raise UsageError(f"{path}:{line}: {name}={value}: not a number")
