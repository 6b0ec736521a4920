"""Whoever looks into a small log again reads memory, unless it may be another log."""

import os
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.traffic import counted

from segmend.logdir import second_looks
from segmend.logdir.disk import FileReader
from segmend.logdir.files import FileEntry
from segmend.logdir.second_looks import SMALL, look_again

NAME = "00000000000000000000.log"


def written(directory: Path, data: bytes) -> FileEntry:
    """A log that was written a while ago."""
    (directory / NAME).write_bytes(data)
    time.sleep(0.03)
    return FileEntry.at(f"{directory}/{NAME}")


def test_only_the_first_look_reads(tmp_path: Path, reads: list[int]) -> None:
    log = written(tmp_path, bytes(range(256)) * 100)
    with look_again(log) as reader:
        assert reader.read(61, 5000) == (bytes(range(256)) * 100)[5000:5061]
        assert sum(reads) == 4096
        assert reader.read(1 << 20) == bytes(range(256)) * 100
        assert sum(reads) == reader.size
    reads.clear()
    with look_again(log) as reader:
        assert reader.read(1 << 20) == bytes(range(256)) * 100
    assert not reads


def test_a_changed_log_is_read_again(tmp_path: Path) -> None:
    log = written(tmp_path, b"a" * 9000)
    with look_again(log) as reader:
        assert reader.read(9000) == b"a" * 9000
    (tmp_path / NAME).write_bytes(b"b" * 9000)
    for _ in range(2):
        with look_again(log) as reader:
            assert reader.read(9000) == b"b" * 9000


def test_a_log_of_this_moment_is_not_kept(tmp_path: Path) -> None:
    """Its next change may have the same time."""
    (tmp_path / NAME).write_bytes(b"a" * 100)
    stat = os.stat(tmp_path / NAME)
    now = stat.st_ctime_ns + 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(second_looks, "_store", store := second_looks._Store())
        patch.setattr(second_looks.time, "time_ns", lambda: now)
        for _ in range(2):
            with look_again(FileEntry.at(f"{tmp_path}/{NAME}")) as reader:
                reader.read(100)
    assert not store._kept


def test_the_oldest_go_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(second_looks, "_store", store := second_looks._Store())
    monkeypatch.setattr(second_looks, "LIMIT", 3 * 9000)
    for number in range(6):
        (tmp_path / str(number)).mkdir()
        with look_again(written(tmp_path / str(number), bytes(9000))) as reader:
            reader.read(9000)
    assert store._held == sum(len(pages.data) for pages in store._kept.values()) == 3 * 9000


def test_a_large_log_is_not_kept(tmp_path: Path) -> None:
    log = written(tmp_path, bytes(SMALL + 1))
    with look_again(log) as reader:
        assert isinstance(reader, FileReader)


@settings(max_examples=60)
@given(size=st.integers(1, 20_000), looks=st.lists(st.tuples(st.integers(0, 20_100), st.integers(0, 9000))))
def test_any_looks_see_the_bytes_and_read_them_once(
    size: int, looks: list[tuple[int, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever places are looked at in whatever order, the bytes are the file's, and no page read twice."""
    data = (b"0123456789abcdef" * (size // 16 + 1))[:size]
    directory = tmp_path_factory.mktemp("looks")
    (directory / NAME).write_bytes(data)
    with counted() as traffic, look_again(FileEntry.at(f"{directory}/{NAME}")) as reader:
        for position, length in looks:
            assert reader.read(length, position) == data[position : position + length]
            buffer = bytearray(length)
            got = reader.read_into(memoryview(buffer), position)
            assert bytes(buffer[:got]) == data[position : position + length]
    assert traffic.read.total() <= size
