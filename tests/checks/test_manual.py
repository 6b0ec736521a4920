"""Every check's docstring is a manual page with the same headings, and every code has one owner."""

from __future__ import annotations

from collections import Counter

import pytest

from segmend.checks import Check, all_checks, by_code
from segmend.checks.manual import HEADINGS, page_of, parse_page

CHECKS = all_checks()


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_the_page_is_whole(check: Check) -> None:
    page = page_of(check)
    assert page.title
    assert "\n" not in page.title
    assert list(page.sections) == list(HEADINGS), "the headings, in this order"
    assert all(page.sections.values()), "no section is empty"
    assert set(page.codes) == set(check.codes), "one line under Codes for each code"
    assert all(page.codes.values())


def test_a_code_has_one_owner() -> None:
    counts = Counter(code for check in CHECKS for code in check.codes)
    assert [code for code, count in counts.items() if count > 1] == []


def test_a_code_is_found() -> None:
    assert by_code("E01") is not None
    assert by_code("X99") is None


def test_lines_of_a_code_may_go_on() -> None:
    page = parse_page(
        "Title.\n\nCodes\n    A01  one\n         and more\n    A02  two\n\nKafka\n    x\n\n    y\n"
    )
    assert page.title == "Title"
    assert page.codes == {"A01": "one and more", "A02": "two"}
    assert page.sections["Kafka"] == "x\n\ny"
