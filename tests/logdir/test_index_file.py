"""Indexes of which most is a hole, or that claim to be of any size: little of them is read."""

import os
import random
from pathlib import Path

import pytest
from tests.seeds import SEED, sampled

from segmend.logdir import disk
from segmend.logdir.files import FileEntry
from segmend.logdir.index_file import LIMIT_BYTES, read_index

TERABYTE = 1 << 40


def index(path: Path, size: int, *written: tuple[int, bytes]) -> FileEntry:
    with open(path, "wb") as stream:
        for at, data in written:
            stream.seek(at)
            stream.write(data)
    os.truncate(path, size)
    return FileEntry(disk, str(path.parent), path.name)


@pytest.mark.timeout(30)
@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("entry", [8, 12])
def test_a_hole_is_not_read(entry: int, exact: bool, tmp_path: Path) -> None:
    file = index(tmp_path / "x", TERABYTE, (0, b"\1" * entry * 3))
    data, left_out = read_index(file, entry, exact=exact)
    assert data[: 4 * entry] == b"\1" * entry * 3 + bytes(entry)
    assert left_out == TERABYTE // entry - 4


@pytest.mark.timeout(30)
@pytest.mark.parametrize("exact", [True, False])
def test_no_more_is_taken_into_memory_than_an_index_may_have(exact: bool, tmp_path: Path) -> None:
    """Its last entry is behind a hole that no memory has room for."""
    middle = (0, b"\1" * 8), (TERABYTE // 2 - 8, b"\1" * 8)
    data, left_out = read_index(index(tmp_path / "x", TERABYTE, *middle), 8, exact=exact)
    assert len(data) <= LIMIT_BYTES + 8
    assert left_out == 0 or not exact


@pytest.mark.parametrize("number", range(sampled(400, 40)))
def test_exactly_the_zeros_at_its_end_are_left_out(number: int, tmp_path: Path) -> None:
    """Drawn pieces between holes and written zeros, against the file read whole."""
    chance = random.Random(f"{SEED} {number}")
    entry, size = chance.choice((8, 12)), chance.randint(256 << 10, 3 << 20)
    pieces = [
        (chance.randrange(size), chance.choice((bytes, chance.randbytes))(chance.randint(1, 9000)))
        for _ in range(chance.randint(0, 4))
    ]
    file = index(tmp_path / "x", size, *((at, data[: size - at]) for at, data in pieces))
    whole = Path(file.path).read_bytes()
    rest = size % entry
    used = min(-(-len(whole.rstrip(b"\0")) // entry), size // entry)
    data, left_out = read_index(file, entry, exact=True)
    assert left_out == max(size // entry - used - 1, 0)
    assert data == whole[: (size // entry - left_out) * entry] + whole[size - rest :]
