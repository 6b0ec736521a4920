"""Snapshots and logs of ZooKeeper, byte by byte."""

from tests.zookeeper_files import CLOSE_SESSION, CREATE_TTL, deleted, log, made, snapshot, together, written

from segmend.formats import zookeeper_log, zookeeper_snapshot
from segmend.formats.zookeeper_log import NodeChange

TREE = {"/a": b"1", "/a/b": None, "/c": b""}
CHANGES = [
    made("/a", b"1"),
    (CLOSE_SESSION, b""),
    together(written("/a", b"2"), made("/t", b"", CREATE_TTL)),
    deleted("/a"),
]


def test_a_snapshot_is_its_nodes() -> None:
    assert zookeeper_snapshot.parse(snapshot(TREE)) == ({"": b"", "/a": b"1", "/a/b": b"", "/c": b""}, ())


def test_what_newer_ones_write_behind_the_checksum_is_not_the_tree() -> None:
    assert zookeeper_snapshot.parse(snapshot(TREE) + b"digest")[1] == ()


def test_every_cut_and_every_flip_of_a_snapshot_is_a_damage() -> None:
    data = snapshot(TREE)
    sealed = len(data) - 5  # the last string, "/", is not looked at
    for size in range(sealed):
        assert [each.kind for each in zookeeper_snapshot.parse(data[:size])[1]] == ["truncated"], size
    for at in range(sealed):
        hurt = bytearray(data)
        hurt[at] ^= 0x41
        (damage,) = zookeeper_snapshot.parse(bytes(hurt))[1]
        assert 0 <= damage.position <= len(data)


def test_a_log_is_its_changes() -> None:
    changes, damages = zookeeper_log.parse(log(0x10, CHANGES))
    assert damages == ()
    assert changes == (
        NodeChange(zxid=0x10, path="/a", data=b"1", makes=True),
        NodeChange(zxid=0x12, path="/a", data=b"2"),
        NodeChange(zxid=0x12, path="/t", data=b"", makes=True),
        NodeChange(zxid=0x13, path="/a", data=None),
    )


def test_a_log_that_is_cut_off_is_what_came_before() -> None:
    data = log(1, CHANGES, zeros=0)
    whole = zookeeper_log.parse(data)[0]
    for size in range(4, len(data)):
        changes, damages = zookeeper_log.parse(data[:size])
        assert (changes, damages) == (whole[: len(changes)], ())
        assert len(changes) < len(whole)


def test_transactions_within_transactions_go_no_deeper() -> None:
    deep = written("/a", b"1")
    for _ in range(2000):
        deep = together(deep)
    assert zookeeper_log.parse(log(1, [deep])) == ((), ())


def test_a_flip_in_a_log_is_never_read() -> None:
    data = log(1, CHANGES)
    whole = zookeeper_log.parse(data)[0]
    for at in range(16, len(data) - 64):
        hurt = bytearray(data)
        hurt[at] ^= 0x41
        changes = zookeeper_log.parse(bytes(hurt))[0]
        assert changes == whole[: len(changes)] or len(changes) == len(whole)
    assert zookeeper_log.parse(b"ZKSN" + data[4:])[1][0].kind == "bad-magic"
    torn = data.replace(b"/a", b"/z", 1)
    assert zookeeper_log.parse(torn)[1][0].kind == "bad-checksum"
