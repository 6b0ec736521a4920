"""Control records: markers and KRaft's own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples

from segmend.formats import control
from segmend.formats.control import (
    ControlRecord,
    ControlValue,
    Endpoint,
    EndTxnMarker,
    KRaftVersion,
    LeaderChange,
    SnapshotFooter,
    SnapshotHeader,
    Voter,
    Voters,
    VoterSetEntry,
    parse,
    render_voters,
)

ID = "0aMmLnfGQSucDIs5kDcaAA"
ID_HEX = "d1a3262e77c6412b9c0c8b3990371a00"
VALUES: list[tuple[int, ControlValue, str]] = [
    (control.ABORT, EndTxnMarker(0, 5), "0000" "00000005"),
    (control.COMMIT, EndTxnMarker(0, -1), "0000" "ffffffff"),
    (
        control.LEADER_CHANGE,
        LeaderChange(0, 1, (Voter(1), Voter(2)), (Voter(1),)),
        "0000" "00000001" "03" "0000000100" "0000000200" "02" "0000000100" "00",
    ),
    (
        control.LEADER_CHANGE,
        LeaderChange(1, 1, (Voter(1, ID),)),
        f"0001 00000001 02 00000001 {ID_HEX} 00 01 00",
    ),
    (control.SNAPSHOT_HEADER, SnapshotHeader(0, 1_700_000_000_000), "0000" "0000018bcfe56800" "00"),
    (control.SNAPSHOT_FOOTER, SnapshotFooter(0), "0000" "00"),
    (control.KRAFT_VERSION, KRaftVersion(0, 1), "0000" "0001" "00"),
    (
        control.KRAFT_VOTERS,
        Voters(0, (VoterSetEntry(1, ID, (Endpoint("CONTROLLER", "h", 9093),), 0, 1),)),
        f"0000 02 00000001 {ID_HEX} 02 0b434f4e54524f4c4c4552 0268 2385 00 0000 0001 00 00 00",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "value", "encoded"), VALUES)
def test_every_type_byte_by_byte(kind: int, value: ControlValue, encoded: str) -> None:
    key, raw = b"\x00\x00\x00" + bytes((kind,)), bytes.fromhex(encoded)
    record = ControlRecord(type=kind, value=value)
    assert parse(key, raw) == (record, ())
    assert not isinstance(value, Voters) or render_voters(value) == (key, raw)


def test_names_of_types() -> None:
    assert ControlRecord(type=1).type_name == "COMMIT"
    assert ControlRecord(type=6).type_name == "KRAFT_VOTERS"
    assert ControlRecord(type=-1).type_name == ControlRecord(type=7).type_name == "UNKNOWN"


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        (None, b"", "bad-key"),
        (b"", b"", "bad-key"),
        (b"\x00\x00\x00", b"", "bad-key"),
        (b"\x00\x00\x00\x07", bytes(6), "bad-key"),
        (b"\x00\x00\xff\xff", bytes(6), "bad-key"),
        (b"\xff\xff\x00\x00", bytes(6), "bad-key"),
        (b"\x00\x00\x00\x00", None, "bad-value"),
        (b"\x00\x00\x00\x00", bytes(5), "bad-value"),
        (b"\x00\x00\x00\x00", b"\xff\xff" + bytes(4), "bad-value"),
        (b"\x00\x00\x00\x02", bytes(6) + b"\xff\xff\xff\xff\x0f", "bad-value"),
        (b"\x00\x00\x00\x02", bytes(2 << 20), "bad-value"),
    ],
)
def test_damage(key: bytes | None, value: bytes | None, kind: str) -> None:
    record, damages = parse(key, value)
    assert [damage.kind for damage in damages] == [kind]
    assert record.value is None


def test_longer_keys_and_markers_are_read_as_the_version_that_is_known() -> None:
    record, damages = parse(b"\x00\x01\x00\x01rest", b"\x00\x01\x00\x00\x00\x05rest")
    assert (record.key_version, record.value, damages) == (1, EndTxnMarker(1, 5), ())


def test_unknown_tagged_fields_are_passed_over() -> None:
    assert parse(b"\x00\x00\x00\x04", b"\x00\x00\x01\x07\x02xy")[0].value == SnapshotFooter(0)


@pytest.mark.parametrize(("kind", "value", "encoded"), VALUES)
def test_every_truncation_is_noticed(kind: int, value: ControlValue, encoded: str) -> None:
    raw = bytes.fromhex(encoded)
    for size in range(len(raw)):
        assert [damage.kind for damage in parse(b"\x00\x00\x00" + bytes((kind,)), raw[:size])[1]] == [
            "bad-value"
        ]


@given(st.none() | st.binary(max_size=6), st.none() | st.binary(max_size=60))
@examples(150)
def test_any_bytes_are_answered(key: bytes | None, value: bytes | None) -> None:
    record, damages = parse(key, value)
    assert (record.value is None) == bool(damages)
