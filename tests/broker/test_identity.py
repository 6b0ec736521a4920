"""meta.properties of all dirs together (MetaPropertiesEnsemble.verify)."""

import pytest

from segmend.broker.identity import Identity, verify
from segmend.formats.meta_properties import parse
from segmend.logdir.release import Release

NEW = Release.parse("4.3")


def identity(path: str, text: str | None, *, metadata: bool = False) -> Identity:
    if text is None:
        return Identity(path=path, missing=True, value=None, is_metadata_dir=metadata)
    value, damages = parse(text.encode())
    return Identity(path=path, missing=False, value=value, damages=damages, is_metadata_dir=metadata)


def text(
    node: int = 1, cluster: str = "lAb5pZ9vTWWx4JmKu0o3Ng", directory: str = "JKf3ybmxTp6ZRMVaHZWYLA"
) -> str:
    return f"version=1\ncluster.id={cluster}\nnode.id={node}\ndirectory.id={directory}\n"


OTHER = "5Ck7mLhOSHGMUSQB0K3Dfg"


def test_a_healthy_pair_starts() -> None:
    found = verify(
        [identity("a", text()), identity("b", text(directory=OTHER))], kraft=True, node_id=1, release=NEW
    )
    assert (found.refusal, found.offline) == (None, {})


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (None, "have you run"),
        (text(node=2, directory=OTHER), "Stored node id 2"),
        (text(cluster="mAb5pZ9vTWWx4JmKu0o3Ng", directory=OTHER), "Invalid cluster.id"),
        (text(), "Duplicate directory ID"),
        (text(directory="AAAAAAAAAAAAAAAAAAAAAQ"), "Invalid reserved directory ID"),
        ("", "node ID not found"),
    ],
    ids=["missing", "node", "cluster", "twice", "reserved", "empty"],
)
def test_what_stops_the_process(second: str | None, words: str) -> None:
    found = verify([identity("a", text()), identity("b", second)], kraft=True, node_id=None, release=NEW)
    assert words in (found.refusal or "")


def test_an_unreadable_second_dir_only_goes_offline() -> None:
    found = verify(
        [identity("a", text()), identity("b", "version=7\n")], kraft=True, node_id=None, release=NEW
    )
    assert found.refusal is None
    assert list(found.offline) == ["b"]


def test_an_unreadable_metadata_dir_stops_the_process() -> None:
    dirs = [identity("a", "version=7\n", metadata=True), identity("b", text())]
    assert "metadata log directory" in (verify(dirs, kraft=True, node_id=1, release=NEW).refusal or "")


def test_zookeeper_brokers_make_what_is_missing() -> None:
    v0 = "version=0\nbroker.id=1\n"
    old = Release.parse("2.8")
    assert (
        verify([identity("a", v0), identity("b", None)], kraft=False, node_id=1, release=old).refusal is None
    )
    clash = verify([identity("a", v0)], kraft=False, node_id=3, release=old)
    assert "Configured broker.id 3" in (clash.refusal or "")


@pytest.mark.parametrize(("release", "starts"), [("1.1", True), ("2.7", True), ("2.8", False)])
def test_blanks_behind_a_value_count_since_nothing_trims_them(release: str, starts: bool) -> None:
    blank = "version=0 \nbroker.id=1\t\ncluster.id=lAb5pZ9vTWWx4JmKu0o3Ng \n"
    found = verify([identity("a", blank)], kraft=False, node_id=1, release=Release.parse(release))
    assert (found.refusal is None) is starts
