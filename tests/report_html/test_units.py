"""Numbers as people read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segmend.report.html import units


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (None, "—"),
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 KiB"),
        (1 << 30, "1.0 GiB"),
        (12_345_678, "11.8 MiB"),
        (150 << 40, "150 TiB"),
        (2**63, "8.0 EiB"),
    ],
)
def test_sizes(number: int | None, text: str) -> None:
    assert units.size(number) == text


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (None, "no time"),
        (-1, "no time"),
        (0, "1970-01-01 00:00:00"),
        (1_795_230_720_000, "2026-11-21 03:12:00"),
        (2**63 - 1, "no date (9223372036854775807)"),
        (1_795_366_572_973_486, "2026-11-22 16:56:12 in microseconds"),
        (-(2**62), f"no date ({-(2**62)})"),
    ],
)
def test_instants(ms: int | None, text: str) -> None:
    assert units.instant(ms) == text


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "0 seconds"),
        (1_000, "1 second"),
        (90_000, "1.5 minutes"),
        (3_600_000, "1 hour"),
        (40 * 86_400_000, "40 days"),
    ],
)
def test_ages(ms: int, text: str) -> None:
    assert units.age(ms) == text


@pytest.mark.parametrize(
    ("part", "whole", "text"),
    [(0, 5, "0 %"), (1, 0, "0 %"), (1, 10_000, "<0.1 %"), (1, 200, "0.5 %"), (9, 9, "100 %")],
)
def test_shares(part: int, whole: int, text: str) -> None:
    assert units.share(part, whole) == text


@pytest.mark.parametrize(
    ("value", "text"), [(None, "—"), (0.84, "840 ms"), (12.44, "12.4 s"), (200, "3 min 20 s")]
)
def test_durations(value: float | None, text: str) -> None:
    assert units.seconds(value) == text


@given(st.text(), st.integers(3, 40))
def test_shortened_keeps_both_ends_and_the_limit(text: str, limit: int) -> None:
    short = units.shortened(text, limit)
    assert len(short) <= limit
    assert short == text or (short[0] == text[0] and short[-1] == text[-1])


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_a_width_is_always_a_width(part: int, whole: int) -> None:
    assert 0 <= units.percent(part, whole) <= 100


@given(st.integers(-(2**63), 2**63 - 1))
def test_any_timestamp_has_a_text(ms: int) -> None:
    assert units.instant(ms)
