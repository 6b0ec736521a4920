"""A log dir as a broker sees it, and nothing touched before it is asked for."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest

from segmend.logdir import disk
from segmend.logdir.log_dir import LogDir

ZERO = "00000000000000000000"
HEX = "0123456789abcdef0123456789abcdef"


def make(root: Path, *files: str) -> LogDir:
    for name in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir() if name.endswith("/") else path.touch()
    return LogDir.open(str(root))


def test_partitions_of_every_kind_by_topic_and_number(tmp_path: Path) -> None:
    log_dir = make(
        tmp_path, "b-10/", "b-9/", "a.b_c-d-0/", "__cluster_metadata-0/", "lost+found/", "foo-delete/",
        f"b-1.{HEX}-future/", f"b-2.{HEX}-delete/", f"b-3.{HEX}-stray/", "remote-log-index-cache/",
        "meta.properties", "t-0",
    )  # fmt: skip
    assert [(p.topic, p.partition, p.kind) for p in log_dir.partitions] == [
        ("__cluster_metadata", 0, "cluster-metadata"),
        ("a.b_c-d", 0, "current"),
        ("b", 1, "future"),
        ("b", 2, "delete"),
        ("b", 3, "stray"),
        ("b", 9, "current"),
        ("b", 10, "current"),
    ]
    assert log_dir.foreign == ["foo-delete", "lost+found"]
    assert log_dir.others == ["meta.properties", "t-0"]
    assert log_dir.partition("b-9") is log_dir.partitions[5]
    assert log_dir.partition("b-8") is None
    assert log_dir.name == tmp_path.name


def test_opening_lists_names_and_nothing_else(tmp_path: Path) -> None:
    make(tmp_path, f"t-0/{ZERO}.log", f"t-1/{ZERO}.log", "meta.properties")
    with (
        mock.patch.object(disk, "_open", side_effect=AssertionError("opened")),
        mock.patch("os.stat", side_effect=AssertionError("stat")),
        mock.patch("os.scandir", wraps=os.scandir) as scandir,
    ):
        log_dir = LogDir.open(str(tmp_path))
        assert [p.name for p in log_dir.partitions] == ["t-0", "t-1"]
        assert scandir.call_count == 1
        assert [s.base_offset for p in log_dir.partitions for s in p.segments] == [0, 0]
        assert scandir.call_count == 3


def test_a_segment_and_its_files(tmp_path: Path) -> None:
    names = [f"{base:020d}{suffix}" for base in (0, 50) for suffix in (".log", ".index", ".timeindex")]
    partition = make(tmp_path, *(f"t-0/{n}" for n in [*names, f"{50:020d}.txnindex"])).partitions[0]
    first, last = partition.segments
    assert (first.base_offset, first.is_active, first.next_base_offset) == (0, False, 50)
    assert (last.base_offset, last.is_active, last.next_base_offset) == (50, True, None)
    assert [f.name for f in first.files] == names[:3]
    assert first.txnindex is None
    assert last.txnindex is not None
    assert last.txnindex.parsed.kind == "txnindex"
    assert last.log is not None
    assert last.log.path == f"{tmp_path}/t-0/{50:020d}.log"


def test_a_shadowed_log_leaves_a_segment_without_log(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    (tmp_path / "t-0" / "688.log").write_bytes(b"data")
    (segment,) = LogDir.open(str(tmp_path)).partitions[0].segments
    assert segment.log is None
    assert segment.name == f"{688:020d}.log"


def test_size_is_that_of_the_logs(tmp_path: Path) -> None:
    log_dir = make(tmp_path, f"t-0/{ZERO}.index")
    (tmp_path / "t-0" / f"{ZERO}.log").write_bytes(b"x" * 10)
    (tmp_path / "t-0" / f"{5:020d}.log").write_bytes(b"x" * 7)
    assert log_dir.partitions[0].size == 17


def test_linked_partitions_are_followed_and_told(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    make(elsewhere, f"{ZERO}.log")
    data = tmp_path / "data"
    data.mkdir()
    (data / "t-0").symlink_to(elsewhere)
    (data / "t-1").symlink_to(data / "t-1")
    log_dir = LogDir.open(str(data))
    assert [(p.name, p.is_link, len(p.segments)) for p in log_dir.partitions] == [("t-0", True, 1)]


def test_what_vanished_is_a_value(tmp_path: Path) -> None:
    log_dir = make(tmp_path, f"t-0/{ZERO}.log")
    os.unlink(tmp_path / "t-0" / f"{ZERO}.log")
    os.rmdir(tmp_path / "t-0")
    (partition,) = log_dir.partitions
    assert partition.segments == []
    assert partition.files == {}
    assert partition.unreadable is not None
    assert partition.unreadable.missing


def test_top_level_files(tmp_path: Path) -> None:
    log_dir = make(tmp_path, "t-0/")
    (tmp_path / "meta.properties").write_bytes(b"version=1")
    assert log_dir.entry("meta.properties") is None, "the listing is of before"
    log_dir = LogDir.open(str(tmp_path))
    assert log_dir.meta_properties.data == b"version=1"
    assert log_dir.entry("t-0") is None
    assert log_dir.broker_running() is False


class Watched:
    """An `os.DirEntry` that tells when it looks at its file."""

    def __init__(self, entry: os.DirEntry[str], looks: list[object]) -> None:
        self._entry, self._looks = entry, looks

    def __getattr__(self, name: str) -> object:
        if name in ("stat", "inode"):
            self._looks.append(name)
        return getattr(self._entry, name)


@pytest.mark.slow
def test_a_hundred_thousand_names_are_listed_without_a_look_at_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "t-0"
    root.mkdir()
    for base in range(25_000):
        for suffix in (".log", ".index", ".timeindex", ".snapshot"):
            os.close(os.open(f"{root}/{base:020d}{suffix}", os.O_CREAT | os.O_WRONLY))
    looks: list[object] = []
    real, entries = os.stat, os.scandir

    @contextmanager
    def watched(path: str) -> Iterator[Iterator[Watched]]:
        """An entry may ask for its own stat, and that is none of `os.stat`."""
        with entries(path) as found:
            yield (Watched(each, looks) for each in found)

    monkeypatch.setattr(os, "stat", lambda *path, **how: looks.append(path) or real(*path, **how))
    monkeypatch.setattr(os, "scandir", watched)
    (partition,) = LogDir.open(str(tmp_path)).partitions
    assert len(partition.segments) == 25_000
    assert len(looks) < 10
