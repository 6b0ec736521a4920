"""`meta.properties`, both versions."""

import pytest

from segmend.formats.meta_properties import parse, render

ID = "0aMmLnfGQSucDIs5kDcaAA"
V0 = b"#\n#Sat Nov 21 12:45:48 UTC 2026\nbroker.id=1\nversion=0\ncluster.id=abc\n"
V1 = f"#\n#Sat Nov 21 12:45:48 UTC 2026\ncluster.id=abc\ndirectory.id={ID}\nnode.id=1\nversion=1\n".encode()


def test_version_0() -> None:
    meta, damages = parse(V0)
    assert damages == ()
    assert (meta.version, meta.node_id, meta.cluster_id, meta.directory_id) == (0, 1, "abc", None)
    assert render(meta) == V0


def test_version_1() -> None:
    meta, damages = parse(V1)
    assert damages == ()
    assert (meta.version, meta.node_id, meta.cluster_id, meta.directory_id) == (1, 1, "abc", ID)
    assert render(meta) == V1


def test_version_0_needs_nothing() -> None:
    meta, damages = parse(b"")
    assert (meta.version, meta.node_id, meta.cluster_id, damages) == (0, None, None, ())
    assert parse(b"version= 0 \n")[0].version == 0


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (V1.replace(b"version=1", b"version=2"), [("bad-version", 92)]),
        (V1.replace(b"version=1", b"version=one"), [("bad-version", 92)]),
        (V1.replace(b"node.id=1\n", b""), [("missing-key", 92)]),
        (V1.replace(b"cluster.id=abc\n", b""), [("missing-key", 87)]),
        (V1.replace(b"node.id=1", b"node.id=1 "), [("not-a-number", 82)]),
        (V0.replace(b"broker.id=1", b"broker.id=x"), [("not-a-number", 32)]),
        (V1.replace(ID.encode(), b"zzz"), [("bad-uuid", 47)]),
        (V1.replace(ID.encode(), b"A" * 22), [("reserved-directory-id", 47)]),
        (V1 + b"x=\\u1\n", [("bad-escape", 102)]),
        (b"version=1\n", [("missing-key", 10), ("missing-key", 10)]),
    ],
)
def test_damage(data: bytes, found: list[tuple[str, int]]) -> None:
    meta, damages = parse(data)
    assert [damage.kind for damage in damages] == [kind for kind, _ in found]
    assert all(abs(damage.position - at) <= 3 for damage, (_, at) in zip(damages, found, strict=True))
    assert render(meta) == data


def test_kafkas_words() -> None:
    assert parse(b"version=7\n")[1][0].reason == "Unknown meta.properties version number 7"
    assert parse(b"version=x\n")[1][0].reason == "Invalid meta.properties version string 'x'"
    assert parse(b"version=1\ncluster.id=a\n")[1][0].reason == "Failed to find node.id"
