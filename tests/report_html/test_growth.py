"""The growth plot: audits of the same paths only, on a scale that is said."""

from datetime import timedelta

import pytest
from tests.report_html import sample
from tests.report_html.conftest import html

from segmend.report.html import Past
from segmend.report.html.growth import growth


def test_audits_of_the_same_paths_are_drawn_and_others_counted() -> None:
    found = growth(sample.past(audits=12))
    assert (len(found.points), found.other_paths) == (12, 1)
    assert [point.left for point in found.points] == sorted(point.left for point in found.points)
    assert (found.points[0].left, found.points[-1].left) == (0, 100)
    assert [point.tip.partition("\n")[0] for point in found.points if point.apart] == ["2026-11-17 03:12 UTC"]
    assert all(0 <= point.bottom <= 100 for point in found.points)


def test_a_line_that_hardly_rises_keeps_its_shape_and_says_where_its_scale_begins() -> None:
    runs = [
        {"started": sample.NOW + timedelta(days=day), "bytes": (1000 + day) * sample.GIB, "paths": ["/d"],
         "log_dirs": 1, "errors": 0, "warnings": 0}
        for day in range(3)
    ]  # fmt: skip
    found = growth(Past(runs=runs))
    assert found.points[-1].bottom - found.points[0].bottom > 50
    assert [label for _, label in found.ticks] == ["1.0 TiB", "+1.2 GiB", "+2.3 GiB"]
    assert f"The scale begins at {found.ticks[0][1]}." in html({}, past=Past(runs=runs))


def test_a_fleet_that_does_not_grow_is_a_line_above_nothing() -> None:
    runs = [{**run, "bytes": 7 * sample.GIB} for run in sample.past().runs]
    found = growth(Past(runs=runs))
    assert found.ticks[0] == (0, "0 B")
    assert {point.bottom for point in found.points} == {100.0}


def test_of_many_audits_the_last_are_drawn_and_the_others_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("segmend.report.html.growth.POINTS", 5)
    found = growth(sample.past(audits=12))
    assert (len(found.points), found.earlier) == (5, 7)
    assert "the last 5 audits of these paths saw them, 7 before them not drawn" in html()


def test_one_audit_tells_of_no_growth() -> None:
    assert growth(None).points == growth(sample.past(audits=1)).points == ()
    assert "One audit tells of no growth" in html({})


def test_the_disk_that_is_full_soonest_stands_first_and_a_disk_of_no_rate_says_nothing() -> None:
    rows = growth(sample.past()).disks
    assert [row.full for row in rows] == ["in 3 days", "in 104 days", "—", "—"]
    assert [row.soon for row in rows] == [True, False, False, False]
