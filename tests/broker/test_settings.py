"""What releases say of settings, as their own classes said it; `tests/lab/settings.py` asked them."""

import json
from typing import Any

import pytest
from tests.lab import settings, settings_drawn

from segmend.broker.server_rules import server_refusals
from segmend.broker.server_texts import unheard
from segmend.broker.settings import definition, refused_topic, removed
from segmend.logdir.release import Release

RETENTION = {"retention.ms": 7 * 24 * 3600 * 1000, "retention.bytes": -1}
RECORD: list[tuple[str, list[tuple[str, str]]]] = json.loads(settings.RECORD.read_text())
OWN_WAYS = frozenset({"message.timestamp.type"})
"""Up to 1.1 no validator reads it; what comes of it is another exception."""


def said_by(version: str, steps: list[tuple[str, str]]) -> str:
    """What the release said."""
    return next(said for since, said in reversed(steps) if Release.parse(version) >= Release.parse(since))


def say(kind: str, given: dict[str, str], release: Release) -> list[str]:
    """What the model says; nothing if it would start."""
    if kind == "server":
        return list(server_refusals(given, release))
    refused = refused_topic(given, release, RETENTION)
    return [] if refused is None else [refused.said]


def differences(version: str) -> list[Any]:
    """The questions on which model and release differ: whether they refuse, and in which words."""
    release, found = Release.parse(version), []
    for question, steps in RECORD:
        kind, *settings_ = question.split("\t")
        given = dict(each.split("=", 1) for each in settings_)
        real, ours = said_by(version, steps), say(kind, given, release)
        if version < "2" and not OWN_WAYS.isdisjoint(given) and kind == "topic":
            continue
        if bool(real) != bool(ours) or (real and not any(real == words for words in ours)):
            found.append((settings_[-2:], real, ours))
    return found


@pytest.mark.parametrize("version", settings.ASKED)
def test_each_release_refuses_what_it_refuses_in_its_words(version: str) -> None:
    assert differences(version) == []


def test_each_release_takes_the_drawn_files_that_it_takes() -> None:
    rows = settings_drawn.recorded()
    assert {said != "" for *_, said in rows} == {True, False}
    assert [each for row in rows if (each := settings_drawn.differs(*row))] == []


def test_what_is_no_setting_of_a_release_is_named() -> None:
    names = ["zookeeper.connection.timeout.ms", "logs.dirs", "log.dirs", "process.roles", "ssl.key.password"]
    names += ["listener.name.x.ssl.key.password", "group.share.max.size"]
    said = {text: unheard(names, Release.parse(text)) for text in ("0.10.2", "2.8.2", "4.3.1")}
    assert said == {
        "0.10.2": [], "2.8.2": ["logs.dirs", "group.share.max.size"],
        "4.3.1": ["zookeeper.connection.timeout.ms", "logs.dirs"],
    }  # fmt: skip


def test_a_removed_setting_is_told_from_one_that_any_text_will_do_for() -> None:
    before, after = Release.parse("3.9"), Release.parse("4.0")
    assert removed("log.message.format.version", before, after)
    assert not removed("log.retention.hours", before, after)
    assert not removed("log.dirs", before, Release.parse("0.10.2"))  # whose settings were not looked at
    assert definition("segment.bytes", Release.parse("4.1"), topic=True).valid == "[1048576,...]"  # type: ignore[union-attr]


@pytest.mark.broker
@pytest.mark.parametrize("version", ["2.8.2", "4.3.1"])
def test_the_tables_are_what_the_release_defines(version: str) -> None:
    release = Release.parse(version)
    for (kind, name), text in settings.defined(version).items():
        known = definition(name, release, topic=kind == "topic")
        told = "" if known is None else " ".join(filter(None, (known.kind, known.valid, *known.flags[::-1])))
        assert told == text or (known is None and text in settings.ANY_TEXT), name
        assert kind == "topic" or unheard([name], release) == []
