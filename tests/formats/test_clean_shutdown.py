"""`.kafka_cleanshutdown`."""

import pytest

from segmend.formats.clean_shutdown import CleanShutdown, parse, render

JSON = b'{"version":0,"brokerEpoch":27}'


def test_the_empty_marker_of_old_releases() -> None:
    assert parse(b"") == (CleanShutdown(), ())
    assert render(CleanShutdown()) == b""


def test_the_marker_since_3_7() -> None:
    assert parse(JSON) == (CleanShutdown(version=0, broker_epoch=27), ())
    assert render(CleanShutdown(version=0, broker_epoch=27)) == JSON


@pytest.mark.parametrize(
    "data", [b'{"brokerEpoch": 27, "version": 0}\n', b' {"brokerEpoch":27,"more":[1],"version":0}']
)
def test_what_jackson_accepts(data: bytes) -> None:
    assert parse(data) == (CleanShutdown(version=0, broker_epoch=27), ())


@pytest.mark.parametrize(
    "data",
    [
        b"{",
        b"\x00",
        b"\xff\xff",
        b"[]",
        b"7",
        b'"text"',
        b"NaN",
        b"{}",
        b'{"version":0}',
        b'{"brokerEpoch":null}',
        b'{"brokerEpoch":true}',
        b'{"brokerEpoch":9223372036854775808}',
        b'{"brokerEpoch":Infinity}',
        b'{"brokerEpoch":' + b"9" * 10_000 + b"}",
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b" " * (2 << 20),
    ],
)
def test_content_that_tells_no_epoch(data: bytes) -> None:
    marker, (damage,) = parse(data)
    assert marker.broker_epoch is None
    assert damage.kind == "malformed"
    assert 0 <= damage.position <= len(data)


@pytest.mark.parametrize("size", range(1, len(JSON)))
def test_every_truncation_is_noticed(size: int) -> None:
    assert parse(JSON[:size])[1]
