"""Every rule of `segmend.broker`: what it follows, its turning points in order, and a few values."""

import importlib
import pkgutil
import re
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

import segmend.broker
from segmend.broker import checkpoints, failures, old_identity, recovery, sanity, search, strays
from segmend.broker.rule import Rule
from segmend.logdir.release import Release

MODULES = [m.name for m in pkgutil.iter_modules(segmend.broker.__path__)]
RULES = [
    pytest.param(value, id=f"{name}.{key}")
    for name in MODULES
    for key, value in sorted(vars(importlib.import_module(f"segmend.broker.{name}")).items())
    if isinstance(value, Rule)
]


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_names_kafkas_class_or_proposal(rule: Rule[object]) -> None:
    assert re.search(r"[A-Z]\w+(\.\w+)?|KIP-\d+|KAFKA-\d+", rule.follows)


@pytest.mark.parametrize("rule", RULES)
def test_turning_points_ascend_from_the_oldest_release(rule: Rule[object]) -> None:
    releases = [since for since, _ in rule.steps]
    assert releases[0] == (0, 8)
    assert releases == sorted(set(releases))


@pytest.mark.parametrize("rule", RULES)
def test_a_turn_changes_something(rule: Rule[object]) -> None:
    values = [value for _, value in rule.steps]
    assert all(a != b for a, b in pairwise(values))


def at(version: str) -> Release:
    return Release.parse(version)


@pytest.mark.parametrize(
    ("rule", "version", "value"),
    [
        (sanity.INDEX_SANITY, "1.1.1", sanity.IndexSanity.STRICT),
        (sanity.INDEX_SANITY, "2.0", sanity.IndexSanity.RELAXED),
        (sanity.INDEX_SANITY, "2.3", sanity.IndexSanity.NONE),
        (recovery.DELETE_IF_START_ABOVE_END, "2.2.2", False),
        (recovery.DELETE_IF_START_ABOVE_END, "2.3.0", True),
        (recovery.SWAP, "2.8.2", recovery.SwapHandling.RECOVER),
        (recovery.SWAP, "3.0", recovery.SwapHandling.RENAME),
        (strays.STRAYS, "3.6.1", strays.StrayHandling.DELETE),
        (strays.STRAYS, "4.3.1", strays.StrayHandling.RENAME),
        (strays.MISSING_TOPIC_ID, "3.7.0", strays.MissingTopicId.FATAL),
        (strays.MISSING_TOPIC_ID, "3.7.1", strays.MissingTopicId.STRAY),
        (failures.IO_ERROR, "0.11.0.3", failures.Fate.BROKER),
        (failures.IO_ERROR, "1.0", failures.Fate.DIR),
        (failures.STORAGE_ERROR, "3.2", failures.Fate.BROKER),
        (failures.STORAGE_ERROR, "3.3", failures.Fate.DIR),
        (failures.OFFLINE_STOPS_READS, "2.8.2", False),
        (failures.OFFLINE_STOPS_READS, "3.0", True),
        (checkpoints.MALFORMED, "2.8", frozenset({"malformed", "not-a-number", "huge-count"})),
        (checkpoints.MALFORMED, "4.0", frozenset({"malformed"})),
        (checkpoints.EPOCHS_ASSIGNED, "2.6.3", False),
        (checkpoints.EPOCHS_ASSIGNED, "2.7", True),
        (old_identity.READING, "2.7.2", old_identity.Reading.STRICT),
        (old_identity.READING, "2.8", old_identity.Reading.ALIKE),
        (old_identity.READING, "3.7", old_identity.Reading.ENSEMBLE),
        (recovery.SIZES_WRAP, "1.1.0", True),
        (recovery.SIZES_WRAP, "1.1.1", False),
        (sanity.REBUILDS_MISSING_INDEX, "1.0.2", True),
        (sanity.REBUILDS_MISSING_INDEX, "2.2.2", False),
        (sanity.REBUILDS_MISSING_INDEX, "2.3", True),
        (strays.SUFFIXES, "1.1", frozenset({"delete", "future"})),
        (strays.SUFFIXES, "3.7", frozenset({"delete", "future", "stray"})),
        (search.SEARCH, "4.0.0", search.Search.LAST_OFFSET),
        (search.SEARCH, "4.1", search.Search.BASE_OFFSET),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_the_turning_points_of_the_version_matrix(rule: Rule[object], version: str, value: object) -> None:
    assert rule.of(at(version)) == value


@pytest.mark.parametrize(
    ("recovery_point", "first"), [(0, 0), (9, 0), (10, 1), (19, 1), (20, 2), (99, 2), (-5, 0)]
)
def test_recovery_begins_at_the_segment_that_holds_the_recovery_point(
    recovery_point: int, first: int
) -> None:
    assert recovery.first_recovered([0, 10, 20], recovery_point) == first


@pytest.mark.parametrize("how", search.Search)
@pytest.mark.parametrize(("target", "found"), [(0, 0), (4, 0), (5, 10), (10, 10), (14, 10), (15, None)])
def test_the_batch_at_which_a_read_of_an_offset_begins(
    target: int, found: int | None, how: search.Search
) -> None:
    batches: list[Any] = [SimpleNamespace(base_offset=at, last_offset=at + 4) for at in (0, 10)]
    got = search.search(batches, target, how)
    assert (None if got is None else got.base_offset) == found
