"""Findings: grouped by code, worst first, within a budget that no code can eat alone."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples
from tests.report_html import sample

from segmend.report.html.findings import BUDGET_CHARACTERS, ROWS_PER_CODE, Findings, findings
from segmend.report.html.places import places


def grouped(*rows: dict[str, Any], clean: bool = True, budget: int = BUDGET_CHARACTERS) -> Findings:
    dirs = [{"broker": b, "log_dir_id": b, "path": sample.DIRS[0], "clean_shutdown": clean} for b in (1, 2)]
    tables = {"findings": sample.table("findings", list(rows)), "log_dirs": sample.table("log_dirs", dirs)}
    return findings(tables, places(tables), {}, budget)


def test_errors_come_first_then_what_loses_data_then_the_frequent() -> None:
    found = grouped(
        sample.finding(code="N12", severity="info"),
        *[sample.finding(code="I12", severity="warning")] * 3,
        sample.finding(code="E04", severity="warning"),
        sample.finding(code="N01"),
        sample.finding(code="I14"),
    )
    assert [group.code for group in found.groups] == ["I14", "N01", "E04", "I12", "N12"]
    assert found.counts == {"error": 2, "warning": 4, "info": 1}


@pytest.mark.parametrize(("clean", "says"), [(True, "serves some reads wrong"), (False, "loses data")])
def test_what_a_broker_does_depends_on_how_it_stopped(clean: bool, says: str) -> None:
    assert grouped(sample.finding(code="L05"), clean=clean).groups[0].consequence == says


def test_words_that_all_rows_share_are_printed_once() -> None:
    same = grouped(*[sample.finding(broker_says="Skipping recovery")] * 2)
    differ = grouped(sample.finding(broker_says="a"), sample.finding(broker_says="b"))
    assert same.groups[0].broker_says == "Skipping recovery"
    assert differ.groups[0].broker_says == ""


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        ("orders-0/00.log", "00.log"),
        ("orders-0", ""),
        ("orders-0.abc-stray/00.log", "orders-0.abc-stray/00.log"),
    ],
)
def test_the_partition_is_not_named_twice(file: str, shown: str) -> None:
    row = grouped(sample.finding(file=file)).groups[0].rows[0]
    assert (row.place, row.file) == ("orders-0", shown)


def test_half_a_command_is_never_offered() -> None:
    assert grouped(sample.finding(remedy_command="x" * 5_000)).groups[0].rows[0].command == ""


def test_what_another_finding_explains_has_no_command_of_its_own_and_stands_behind_it() -> None:
    cause = [("cause", '{"code":"M01","dir":"/d","file":"orders-0/partition.metadata"}')]
    explained = sample.finding(code="C10b", detail=cause)
    found = grouped(explained, explained, sample.finding(code="M01"))
    assert [(group.code, group.explained) for group in found.groups] == [("M01", False), ("C10b", True)]
    row = found.groups[1].rows[0]
    assert (row.cause, row.command) == ("M01 orders-0/partition.metadata", "")


def test_an_unknown_severity_is_a_note() -> None:
    assert grouped(sample.finding(severity="fatal?")).counts["info"] == 1


def test_a_finding_of_no_broker_has_a_place_too() -> None:
    found = grouped(
        sample.finding(broker=None, topic=None, partition=None, dir=None, message=None, code=None)
    )
    assert (found.groups[0].code, found.brokers, found.topics) == ("?", ("?",), ())


def test_many_brokers_are_counted_and_few_are_named() -> None:
    few = grouped(sample.finding(broker=10), sample.finding(broker=9)).groups[0]
    many = grouped(*(sample.finding(broker=n) for n in range(40))).groups[0]
    assert (few.brokers, many.brokers) == ("brokers 9, 10", "40 brokers")


@given(
    st.lists(st.tuples(st.sampled_from("ABCDEFG"), st.integers(0, 5_000)), max_size=120),
    st.integers(0, 60_000),
)
@examples(40)
def test_every_code_keeps_rows_before_any_gets_more(rows: list[tuple[str, int]], budget: int) -> None:
    """Whatever the findings and the budget: counts are of all, rows fit, and the turns are fair."""
    found = grouped(*(sample.finding(code=c, message="m" * length) for c, length in rows), budget=budget)
    printed = [row for group in found.groups for row in group.rows]
    assert found.total == len(rows)
    assert sum(group.total for group in found.groups) == len(rows)
    assert found.hidden == len(rows) - len(printed)
    assert sum(row.cost for row in printed) <= budget
    assert sorted(row.id for row in printed) == list(range(len(printed)))
    fewest = min((len(group.rows) for group in found.groups if group.hidden), default=0)
    if found.hidden and fewest < ROWS_PER_CODE:
        assert max(len(group.rows) for group in found.groups) <= fewest + 1
    assert found.facets() == [
        [r.severity, r.broker, r.topic, r.code] for r in sorted(printed, key=lambda r: r.id)
    ]


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("a batch's bytes changed", "A batch's bytes changed"),
        ("recovery-point-offset-checkpoint is malformed", "recovery-point-offset-checkpoint is malformed"),
        ("maxTimestamp is too large", "maxTimestamp is too large"),
        ("`.deleted` files", "`.deleted` files"),
    ],
)
def test_a_headline_begins_as_a_sentence_unless_it_names_a_file(line: str, title: str) -> None:
    tables = {"findings": sample.table("findings", [sample.finding()])}
    assert findings(tables, places(tables), {"L05": sample.entry(line)}).groups[0].title == title


def test_what_the_next_start_does_stands_with_each_finding() -> None:
    effect = {"effect": "tail-truncated", "records_lost": 249, "text": "cuts the log at offset 751"}
    group = grouped(sample.finding(code="I04", severity="warning", broker_effect=effect)).groups[0]
    assert (group.rows[0].effect, group.consequence) == ("cuts the log at offset 751", "loses data")


def test_groups_stand_in_the_one_that_explains_them() -> None:
    """Per cause: what M01 explains in it, what nothing explains alone, and what has no head here, too."""
    m01, k13 = (
        [("cause", f'{{"code":"{code}","dir":"/d","file":"orders-0/partition.metadata"}}')]
        for code in ("M01", "K13")
    )
    rows = [sample.finding(code="M01"), sample.finding(code="C10b"), sample.finding(code="C10b", detail=m01)]
    found = grouped(*rows, sample.finding(code="C10b", detail=k13))
    assert {(group.code, group.explained, group.total) for group in found.inside()} == {
        ("M01", False, 1), ("C10b", False, 1), ("C10b", True, 1),
    }  # fmt: skip
    assert [(group.code, group.explained) for group in found.inside("M01")] == [("C10b", True)]
    assert found.codes == ["M01", "C10b"] or found.codes == ["C10b", "M01"]
    assert len(found.facets()) == 4
