"""The settings that retention goes by: from where, whether that is sure, and what they come to."""

from collections.abc import Mapping

import pytest

from segmend.loading.limits import Known, Origin, Retention, Sources, retention_of
from segmend.logdir.config import ServerConfig
from segmend.logdir.release import Release

ALL, NO_FILE, NO_TOPIC = Known(), Known(broker=False), Known(topic=False)


def told(
    topic: Mapping[str, str],
    given: Mapping[str, str] | None = None,
    known: Known = ALL,
    *,
    name: str = "t",
    dynamic: Mapping[str, str] | None = None,
    release: str = "4.3",
) -> Retention:
    config = ServerConfig(given=given or {}, release=Release.parse(release))
    return retention_of(Sources(config=config, topic=topic, dynamic=dynamic or {}, known=known), name)


@pytest.mark.parametrize(
    ("topic", "dynamic", "given", "origin"),
    [
        ({"retention.ms": "5"}, {"log.retention.ms": "6"}, {"log.retention.ms": "7"}, Origin.TOPIC),
        ({"retention.ms": " 5 "}, {"log.retention.ms": "6"}, {"log.retention.ms": "7"}, Origin.TOPIC),
        ({}, {"log.retention.ms": "6"}, {"log.retention.ms": "7"}, Origin.BROKER),
        ({}, {"log.retention.ms": "6 "}, {"log.retention.ms": "7"}, Origin.BROKER),
        ({}, {}, {"log.retention.hours": "7"}, Origin.FILE),
        ({}, {}, {}, Origin.DEFAULT),
    ],
)
def test_where_a_setting_comes_from(
    topic: Mapping[str, str], dynamic: Mapping[str, str], given: Mapping[str, str], origin: Origin
) -> None:
    assert told(topic, given, dynamic=dynamic).settings[1].origin == origin


def test_what_was_not_seen_may_say_otherwise() -> None:
    """A topic's own setting is the last word; all others are sure only where the topic's own were seen."""
    own, given = {"retention.ms": "5"}, {"log.retention.ms": "7"}
    assert [each.known for each in told(own, given, NO_TOPIC).settings] == [False, True, False]
    assert [each.known for each in told({}, given, NO_TOPIC).settings] == [False, False, False]
    assert [each.known for each in told(own, None, NO_FILE).settings] == [False, True, False]
    assert told({}, given).known
    assert not told({}, given, Known(dynamic=False)).known
    assert not told({}, None, NO_FILE).known


def test_an_empty_policy_of_the_topic_is_one() -> None:
    limits = told({"cleanup.policy": ""}, {"log.cleanup.policy": "delete"}).limits
    assert (limits.delete, limits.compact) == (False, False)
    limits = told({}, {"log.cleanup.policy": ""}).limits
    assert (limits.delete, limits.compact) == (False, False)
    limits = told({"cleanup.policy": " Compact , DELETE"}).limits
    assert (limits.delete, limits.compact) == (True, True)


def test_without_a_cleaner_nobody_looks_at_a_log_with_compact() -> None:
    off = {"log.cleaner.enable": "false"}
    assert not told({"cleanup.policy": "compact,delete"}, off).limits.looked_at
    assert told({"cleanup.policy": "delete"}, off).limits.looked_at


REMOTE = {"remote.log.storage.system.enable": "true"}


REMOTE = {"remote.log.storage.system.enable": "true"}


def test_local_limits_come_from_the_broker_as_well() -> None:
    topic = {"remote.storage.enable": "true", "retention.ms": "1000"}
    found = told(topic, {**REMOTE, "log.local.retention.ms": "10"})
    assert (found.limits.retention_ms, found.limits.remote) == (10, True)
    assert told(topic, {**REMOTE, "log.local.retention.ms": "-2"}).limits.retention_ms == 1000


@pytest.mark.parametrize(
    ("more", "name", "given", "release", "remote"),
    [
        ({}, "t", REMOTE, "4.3", True),
        ({}, "t", {}, "4.3", False),
        ({}, "t", {"config.providers": "f", "remote.log.storage.system.enable": "${f:a:b}"}, "4.3", True),
        ({"cleanup.policy": "compact"}, "t", REMOTE, "4.3", False),
        ({}, "__consumer_offsets", REMOTE, "4.3", False),
        ({"remote.log.copy.disable": "true"}, "t", REMOTE, "4.3", False),
        ({"remote.log.copy.disable": "true"}, "t", REMOTE, "3.8", True),
    ],
)
def test_when_segments_wait_for_their_remote_copy(
    more: Mapping[str, str], name: str, given: Mapping[str, str], release: str, remote: bool
) -> None:
    topic = {"remote.storage.enable": "true", **more}
    assert told(topic, given, name=name, release=release).remote is remote


def test_when_it_looks() -> None:
    given = {"log.initial.task.delay.ms": "2000", "log.retention.check.interval.ms": "7000"}
    found = told({}, given)
    assert (found.first_look_ms, found.check_interval_ms) == (2000, 7000)
    assert told({}, given, release="3.7").first_look_ms == 30_000
    assert told({}).check_interval_ms == 300_000
