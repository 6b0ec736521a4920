"""The one module that touches a disk: everything it may meet there, told in one line."""

import errno
import fcntl
import os
from pathlib import Path

import pytest
from tests.beside import broker_on

from segmend.logdir import disk
from segmend.logdir.file_system import Files, LockState, Unreadable


def test_listing_tells_files_directories_links_and_the_rest(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "dir").mkdir()
    (tmp_path / "to-file").symlink_to(tmp_path / "file")
    (tmp_path / "to-dir").symlink_to(tmp_path / "dir")
    (tmp_path / "to-nothing").symlink_to(tmp_path / "gone")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    os.mkfifo(tmp_path / "fifo")
    assert disk.listing(str(tmp_path)) == {
        "file": "file",
        "dir": "dir",
        "to-file": "link-file",
        "to-dir": "link-dir",
        "to-nothing": "link-broken",
        "loop": "link-broken",
        "fifo": "other",
    }


def test_a_name_that_is_no_utf_8_is_listed_and_can_be_read(tmp_path: Path) -> None:
    raw = os.fsencode(tmp_path) + b"/\xff\xfe-0"
    with open(raw, "wb") as file:
        file.write(b"abc")
    (name,) = disk.listing(str(tmp_path))
    assert disk.read(f"{tmp_path}/{name}") == b"abc"


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda p: None, "no such file or directory"),
        (lambda p: p.symlink_to(p), "too many levels of symbolic links"),
        (lambda p: p.write_bytes(b""), "not a directory"),
    ],
    ids=["missing", "symlink-loop", "file"],
)
def test_what_cannot_be_listed_says_why_in_one_line(tmp_path: Path, make: object, reason: str) -> None:
    path = tmp_path / "data"
    make(path)  # type: ignore[operator]
    with pytest.raises(Unreadable) as caught:
        disk.listing(str(path))
    assert str(caught.value) == f"{path}: {reason}"
    assert caught.value.exit_code == 8
    assert caught.value.missing == (reason != "too many levels of symbolic links")


def test_a_fifo_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(Unreadable, match="not a regular file"):
        disk.read(f"{tmp_path}/fifo")


def test_a_directory_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="not a regular file"):
        disk.read(str(tmp_path))


def test_reading_leaves_no_access_time(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"abc")
    os.utime(path, (1, 1))
    assert disk.read(str(path)) == b"abc"
    assert path.stat().st_atime == 1


def test_the_reader_fills_the_buffer_and_is_short_only_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(bytes(range(100)))
    with disk.FileReader(str(path)) as reader:
        buffer = bytearray(10)
        assert reader.size == 100
        assert reader.read_into(memoryview(buffer), 95) == 5
        assert buffer[:5] == bytes(range(95, 100))
        assert reader.read_into(memoryview(buffer), 1000) == 0
        assert reader.read(4, 50) == bytes(range(50, 54))
        assert reader.read(1 << 60) == bytes(range(100))
        assert reader.read(5, 200) == b""


def test_a_file_cut_while_it_is_open_gives_a_short_read(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"a" * 8192)
    with disk.FileReader(str(path)) as reader:
        os.truncate(path, 10)
        assert reader.read(8192) == b"a" * 10


def test_read_takes_no_more_than_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    path.touch()
    os.truncate(path, 1 << 40)
    assert disk.read(str(path), limit=5) == bytes(5)
    assert disk.file_size(str(path)) == 1 << 40
    assert disk.file_stat(str(path)).allocated < 1 << 20


def test_a_closed_reader_closes_once(tmp_path: Path) -> None:
    reader = disk.FileReader(__file__)
    reader.close()
    reader.close()
    with pytest.raises(Unreadable) as caught:
        reader.read_into(memoryview(bytearray(1)), 0)
    assert caught.value.errno == errno.EBADF


def test_stat_and_space_of_what_is_not_there(tmp_path: Path) -> None:
    for look in (disk.file_stat, disk.file_size, disk.space):
        with pytest.raises(Unreadable, match="no such file"):
            look(f"{tmp_path}/gone")


def test_space_of_a_file_system(tmp_path: Path) -> None:
    space = disk.space(str(tmp_path))
    assert 0 < space.available <= space.free <= space.total
    assert not space.read_only


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda p: None, None),
        (lambda p: p.mkdir(), "dir"),
        (lambda p: p.touch(), "file"),
        (lambda p: os.mkfifo(p), "other"),
    ],
    ids=["missing", "dir", "file", "fifo"],
)
def test_path_type(tmp_path: Path, make: object, expected: str | None) -> None:
    make(tmp_path / "x")  # type: ignore[operator]
    assert disk.path_type(f"{tmp_path}/x") == expected


def test_path_type_of_a_loop_and_of_a_null_byte(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with pytest.raises(Unreadable, match="symbolic links"):
        disk.path_type(f"{tmp_path}/loop")
    with pytest.raises(Unreadable, match="not a path"):
        disk.path_type("a\0b")


def test_the_lock_of_another_process_is_seen_and_not_disturbed(tmp_path: Path) -> None:
    """Java's FileChannel.tryLock is a POSIX record lock over the whole file."""
    path = tmp_path / ".lock"
    path.touch()
    assert disk.lock_state(str(path)) == LockState(held=False)
    with broker_on(tmp_path) as holder:
        for _ in range(2):
            assert disk.lock_state(str(path)) == LockState(held=True, pid=holder)
        with open(path, "r+") as file, pytest.raises(BlockingIOError):
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    assert disk.lock_state(str(path)) == LockState(held=False)


def test_no_lock_file_is_no_lock_and_an_unreadable_one_cannot_be_told(tmp_path: Path) -> None:
    assert disk.lock_state(f"{tmp_path}/.lock") == LockState(held=False)
    (tmp_path / "dir").mkdir()
    assert disk.lock_state(f"{tmp_path}/dir") is None


@pytest.mark.parametrize("size", [0, 1, 11, 12, 13, 40])
def test_the_end_of_a_file_is_the_same_by_whichever_way(size: int, tmp_path: Path) -> None:
    """The short way for very many files, and that of a file system which has none."""
    path = str(tmp_path / "x")
    Path(path).write_bytes(data := bytes(range(size)))
    for wanted, unit in ((12, 12), (5, 1), (8, 12), (100, 1)):
        whole = data[: size - size % unit]
        assert disk.last_bytes(path, wanted, unit) == whole[max(len(whole) - wanted, 0) :]
        assert Files.last_bytes(disk, path, wanted, unit) == disk.last_bytes(path, wanted, unit)
