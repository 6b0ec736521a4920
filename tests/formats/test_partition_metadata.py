"""`partition.metadata`."""

import pytest

from segmend.formats.partition_metadata import PartitionMetadata, parse, render

ID = "0aMmLnfGQSucDIs5kDcaAA"
HEALTHY = f"version: 0\ntopic_id: {ID}".encode()


def test_a_healthy_file() -> None:
    metadata, damages = parse(HEALTHY)
    assert (metadata, damages) == (PartitionMetadata(version=0, topic_id=ID), ())
    assert len(HEALTHY) == 43
    assert render(metadata) == HEALTHY


@pytest.mark.parametrize(
    "data",
    [
        HEALTHY + b"\n",
        HEALTHY + b"\nanything: else\n",
        HEALTHY.replace(b"\n", b"\r\n"),
        HEALTHY.replace(b"version", b"whatever").replace(b"topic_id", b"id"),
        HEALTHY.replace(b"version: 0", b"version: \t 0"),
    ],
)
def test_what_the_broker_accepts_though_it_never_writes_it(data: bytes) -> None:
    assert parse(data) == (PartitionMetadata(version=0, topic_id=ID), ())


def test_a_later_version_is_accepted() -> None:
    metadata, damages = parse(HEALTHY.replace(b"version: 0", b"version: 7"))
    assert (metadata.version, metadata.topic_id, damages) == (7, ID, ())
    assert render(metadata) == HEALTHY.replace(b"version: 0", b"version: 7")


DAMAGED = [
    (b"", [("too-short", 0)]),
    (b"version: 0", [("too-short", 10)]),
    (b"version: 0\n", [("too-short", 11)]),
    (b"version: 0\n\n", [("malformed", 11)]),
    (b"junk", [("malformed", 0), ("too-short", 4)]),
    (b"version:0\ntopic_id: " + ID.encode(), [("malformed", 0)]),
    (b"version: x\ntopic_id: " + ID.encode(), [("malformed", 0)]),
    (b"version: -1\ntopic_id: " + ID.encode(), [("malformed", 0)]),
    (b"version: 0\ntopic_id " + ID.encode(), [("malformed", 11)]),
    (b"version: 0\ntopic_id: ", [("malformed", 11)]),
    (b"version: 0\ntopic_id: a: b", [("malformed", 11)]),
    (b"version: 0\ntopic_id: zzz", [("bad-uuid", 11)]),
    (b"version: 0\ntopic_id: " + b"A" * 22, [("malformed", 11)]),
    (b"\xff\xfe\x00", [("malformed", 0), ("malformed", 0), ("too-short", 3)]),
    (HEALTHY + b"\n\xff", [("malformed", 44)]),
]
"""Files, and what is wrong with them where: `test_every_format` looks."""


def test_the_brokers_words() -> None:
    assert (
        parse(b"version: 0\ntopic_id: " + b"A" * 22)[1][0].reason
        == "Invalid topic ID in partition metadata file"
    )
    assert "NullPointer" not in parse(b"")[1][0].reason
    assert '"this.text" is null' in parse(b"")[1][0].reason
    assert parse(b"version: -1\n")[1][0].reason == "Unrecognized version of partition metadata file: -1"


@pytest.mark.parametrize("size", range(len(HEALTHY)))
def test_every_truncation_is_noticed(size: int) -> None:
    metadata, damages = parse(HEALTHY[:size])
    assert damages
    assert metadata.topic_id is None
