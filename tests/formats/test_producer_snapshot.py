"""`.snapshot`: producer state."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples

from segmend.crc32c import crc32c
from segmend.formats.producer_snapshot import ProducerSnapshot, ProducerStateEntry, parse, render

ENTRY = ProducerStateEntry(9, 1, 20, 144, 2, 1_761_967_368_299, 3, 142)
TWO = render(ProducerSnapshot(entries=(ENTRY, ENTRY._replace(producer_id=10, current_txn_first_offset=-1))))


def sealed(body: bytes, version: int = 1) -> bytes:
    return struct.pack(">hI", version, crc32c(body)) + body


def kinds(data: bytes) -> list[str]:
    return [damage.kind for damage in parse(data)[1]]


def test_the_bytes_of_a_snapshot() -> None:
    body = bytes.fromhex(
        "00000001" "0000000000000009" "0001" "00000014" "0000000000000090" "00000002"
        "0000019a3dd6a9ab" "00000003" "000000000000008e"
    )  # fmt: skip
    raw = sealed(body)
    snapshot, damages = parse(raw)
    assert damages == ()
    assert snapshot.entries == (ENTRY._replace(timestamp=0x19A3DD6A9AB),)
    assert (snapshot.version, snapshot.crc, snapshot.trailing) == (1, crc32c(body), b"")
    assert render(snapshot) == raw


def test_the_ten_bytes_without_producers() -> None:
    empty = render(ProducerSnapshot())
    assert len(empty) == 10
    assert parse(empty)[0].entries == ()
    assert kinds(empty) == []


@pytest.mark.parametrize(
    ("raw", "found"),
    [
        (b"", ["truncated"]),
        (TWO[:9], ["truncated"]),
        (TWO[:40], ["bad-crc", "count-mismatch"]),
        (TWO + bytes(46), ["bad-crc"]),
        (TWO[:20] + b"\xff" + TWO[21:], ["bad-crc"]),
        (TWO[:2] + b"\x00\x00\x00\x00" + TWO[6:], ["bad-crc"]),
        (b"\x00\x02" + TWO[2:], ["bad-version"]),
        (sealed(b"\x7f\xff\xff\xff" + TWO[10:]), ["count-mismatch"]),
        (sealed(b"\xff\xff\xff\xff" + TWO[10:]), ["count-mismatch"]),
        (sealed(b"\x00\x00\x00\x03" + TWO[10:]), ["count-mismatch"]),
        (sealed(TWO[6:-1]), ["count-mismatch"]),
        (sealed(TWO[6:] + b"x"), []),
        (sealed(b"\x00\x00\x00\x01" + TWO[10:]), []),
    ],
)
def test_damage(raw: bytes, found: list[str]) -> None:
    """As `ProducerStateManager.readSnapshot` from 1.1.0 to 4.3.1, which reads the declared entries only."""
    assert kinds(raw) == found


def test_what_is_there_is_read_in_spite_of_a_wrong_count_or_checksum() -> None:
    assert len(parse(sealed(b"\x7f\xff\xff\xff" + TWO[10:]))[0].entries) == 2
    assert parse(TWO[:-1])[0].entries == (ENTRY,)
    assert parse(TWO + b"old tail")[0].trailing == b"old tail"


def test_the_brokers_words() -> None:
    reason = parse(TWO[:-1] + b"\x00")[1][0].reason
    assert reason.startswith("Snapshot is corrupt (CRC is no longer valid). Stored crc: ")


INT, LONG, SHORT = (st.integers(-(2**bits), 2**bits - 1) for bits in (31, 63, 15))
ENTRIES = st.lists(
    st.builds(ProducerStateEntry, LONG, SHORT, INT, LONG, INT, LONG, INT, LONG), max_size=4
).map(tuple)


@given(ENTRIES)
@examples(50)
def test_render_is_the_reverse_of_parse(entries: tuple[ProducerStateEntry, ...]) -> None:
    raw = render(ProducerSnapshot(entries=entries))
    snapshot, damages = parse(raw)
    assert (snapshot.entries, damages, render(snapshot)) == (entries, (), raw)
