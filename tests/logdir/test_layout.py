"""What names in a partition directory mean to a broker (rows N03, N04, N10-N16, N22)."""

import pytest

from segmend.logdir.layout import layout

ZERO = "00000000000000000000"
TEN = "00000000000000000010"


def of(*names: str) -> object:
    return layout(dict.fromkeys(names, "file"))  # type: ignore[arg-type]


def test_a_usual_partition() -> None:
    names = [f"{base}{suffix}" for base in (ZERO, TEN) for suffix in (".log", ".index", ".timeindex")]
    found = layout(
        dict.fromkeys([*names, f"{TEN}.snapshot", f"{TEN}.txnindex", "partition.metadata"], "file")
    )
    assert found.base_offsets == [0, 10]
    assert found.logs == {0: f"{ZERO}.log", 10: f"{TEN}.log"}
    assert set(found.index) == set(found.timeindex) == {0, 10}
    assert set(found.txnindex) == set(found.snapshots) == {10}
    assert found.known == ["partition.metadata"]
    assert found.orphans == []


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("leader-epoch-checkpoint", "known"),
        ("quorum-state", "known"),
        (f"{ZERO}.log.deleted", "deleted"),
        (f"{ZERO}.log.cleaned", "cleaned"),
        (f"{ZERO}.index.swap", "swap"),
        ("leader-epoch-checkpoint.tmp", "temporary"),
        (f"{ZERO}-0000000001.checkpoint", "kraft_snapshots"),
        (f"{ZERO}-0000000001.checkpoint.part", "temporary"),
        (f"{ZERO}-0000000001.checkpoint.deleted", "deleted"),
        ("foo.log", "unparsable"),
        ("x.cleaned", "unparsable"),
        ("x.swap", "unparsable"),
        ("foo.snapshot", "unparsable"),
        ("99999999999999999999.log", "unparsable"),
        ("notes.txt", "foreign"),
        ("\udcff.log", "foreign"),
        (f"{ZERO}.\udcff.log.swap", "foreign"),
        (f"{ZERO}.\udcff.log.deleted", "foreign"),
        ("\udcff.snapshot", "unparsable"),
        ("\u00fc.log", "unparsable"),
        ("core.123", "foreign"),
    ],
)
def test_each_name_lands_in_one_group(name: str, group: str) -> None:
    found = of(name)
    filled = {field for field in found.__slots__ if getattr(found, field)}  # type: ignore[attr-defined]
    assert filled == {group}


def test_an_unpadded_log_is_shadowed_and_its_base_is_a_segment() -> None:
    found = layout({f"{ZERO}.log": "file", "688.log": "file", "688.index": "file"})
    assert found.base_offsets == [0, 688]
    assert found.shadowed == [(688, "688.log")]
    assert found.unpadded == [(688, "688.index")]


def test_the_name_of_an_offset_below_zero_has_its_digits_behind_the_sign() -> None:
    padded = f"-{0:019d}1.log"
    found = layout({f"{ZERO}.log": "file", padded: "file", f"-{1:019d}.log": "file"})
    assert found.logs == {0: f"{ZERO}.log", -1: padded}
    assert found.shadowed == [(-1, f"-{1:019d}.log")]


def test_indexes_without_their_log_are_orphans() -> None:
    found = layout(
        dict.fromkeys([f"{ZERO}.log", f"{ZERO}.index", f"{TEN}.index", f"{TEN}.timeindex"], "file")
    )
    assert found.orphans == [f"{TEN}.index", f"{TEN}.timeindex"]


def test_only_files_are_segments_whatever_the_name() -> None:
    found = layout({f"{ZERO}.log": "dir", f"{TEN}.log": "other", "x": "link-broken", "y": "other"})
    assert found.base_offsets == []
    assert sorted(found.directories) == [f"{ZERO}.log", "x", "y"]
    assert found.dangling == [f"{TEN}.log"]


def test_a_linked_file_counts_as_a_file() -> None:
    assert layout({f"{ZERO}.log": "link-file"}).base_offsets == [0]
