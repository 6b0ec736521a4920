"""Each kind of small file has a viewer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples

from segmend.report import fields
from segmend.report.small_files import VIEWERS


def test_every_kind_is_there() -> None:
    assert set(VIEWERS) >= {
        "index", "timeindex", "txnindex", "snapshot", "offset-checkpoint", "leader-epochs",
        "partition-metadata", "properties", "quorum-state", "clean-shutdown",
    }  # fmt: skip


@pytest.mark.parametrize("kind", sorted(VIEWERS))
def test_each_viewer_matches_its_own_names_only(kind: str) -> None:
    for name in VIEWERS[kind].names:
        example = f"00000000000000000000{name}" if name in (".index", ".log") else name
        assert [k for k, viewer in VIEWERS.items() if viewer.matches(example)] == [kind]


@pytest.mark.parametrize("kind", sorted(VIEWERS))
@examples(25)
@given(data=st.binary(max_size=300), base=st.integers(0, 2**40))
def test_any_bytes_give_rows_with_all_fields(kind: str, data: bytes, base: int) -> None:
    """Whatever the bytes, a viewer gives rows that make a table, and damage, and never raises."""
    rows, damages = VIEWERS[kind].rows(data, base)
    found = list(rows)
    for row in found:
        assert "remark" in row or {field.key for field in VIEWERS[kind].fields} <= row.keys()
        assert row["type"]
    shown = [*found, *map(fields.damage_row, damages)]
    assert len(list(fields.lines(VIEWERS[kind].fields, shown))) == len(shown) + 1


def test_damage_is_told_with_its_bytes() -> None:
    row = {"type": "damage", "position": 4, "end": 9, "kind": "bad-crc", "reason": "x\x1b"}
    assert fields.damage_line(row) == "! byte 4..9: bad-crc: x\\x1b"
    assert fields.short("y" * 500).endswith("…")
