"""Where reading begins: by the indexes where they are sound, and never past what is wanted."""

import struct
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.run import run
from tests.conftest import examples, one_in
from tests.faults.on_disk import lengthen
from tests.logdir.test_walk import write

from segmend.formats.build import NewRecord, build_batch
from segmend.logdir.disk import FileReader
from segmend.logdir.files import FileEntry
from segmend.logdir.seek import position_by_time, position_of, start_of
from segmend.logdir.walk import RecordItem, Selection, walk

ZERO = "00000000000000000000"
START = 1_761_955_200_000
BIG = 64 << 10
"""Bytes of a value of `long_log`."""


def batch(base: int, count: int = 3, **options: object) -> bytes:
    records = [NewRecord(b"v%d" % n, timestamp=START + base + n) for n in range(count)]
    return build_batch(records, base_offset=base, **options)  # type: ignore[arg-type]


def indexed(
    tmp_path: Path, times: Sequence[int], codec: int = 0, magic: int = 2, value: bytes = b"v"
) -> FileEntry:
    """A log of two records a batch with these times, and the indexes a broker writes: an entry a batch."""
    log, index, timeindex, newest = bytearray(), b"", b"", -1
    for base in range(0, len(times), 2):
        pair = times[base : base + 2]
        if max(pair) > newest:
            newest = max(pair)
            timeindex += struct.pack(">qi", newest, base + pair.index(newest))
        index += struct.pack(">ii", base + len(pair) - 1, len(log)) if log else b""
        records = [NewRecord(value, timestamp=time) for time in pair]
        log += build_batch(records, base_offset=base, codec=codec, magic=magic)
    entry = write(tmp_path, bytes(log))
    (tmp_path / f"{ZERO}.index").write_bytes(index)
    (tmp_path / f"{ZERO}.timeindex").write_bytes(timeindex)
    return entry


def offsets(entry: FileEntry, start: int, selection: Selection) -> list[int]:
    with entry.reader() as reader:
        found = walk(reader, base_offset=0, selection=selection, start=start, records=True)
        return [item.record.offset for item in found if isinstance(item, RecordItem)]


def start(entry: FileEntry, **selected: int) -> int:
    with entry.reader() as reader:
        return start_of(entry, reader, Selection(**selected))


@pytest.mark.parametrize(
    ("entries", "offset", "found"),
    [
        ([(3, 1), (6, 2)], 7, 2),
        ([(3, 1), (6, 2)], 3, 1),
        ([(3, 1), (6, 2)], 2, 0),
        ([(3, 1)], 0, 0),
        ([(8, 2)], 7, 0),
        ([], 7, 0),
    ],
)
def test_the_index_says_where_to_begin(
    entries: list[tuple[int, int]], offset: int, found: int, tmp_path: Path
) -> None:
    size = len(batch(0))
    entry = write(tmp_path, batch(0), batch(3), batch(6))
    index = b"".join(struct.pack(">ii", relative, number * size) for relative, number in entries)
    (tmp_path / f"{ZERO}.index").write_bytes(index)
    with FileReader(entry.path) as reader:
        assert position_of(entry, reader, offset) == found * size


@pytest.mark.parametrize("position", [1, 60, 10**6, -4])
def test_a_false_index_is_not_believed(position: int, tmp_path: Path) -> None:
    entry = write(tmp_path, batch(0), batch(3))
    (tmp_path / f"{ZERO}.index").write_bytes(struct.pack(">ii", 1, position))
    with FileReader(entry.path) as reader:
        assert position_of(entry, reader, 5) == 0
    (tmp_path / f"{ZERO}.index").unlink()
    with FileReader(entry.path) as reader:
        assert position_of(entry, reader, 5) == 0
        assert position_of(FileEntry.at(f"{tmp_path}/x.checkpoint"), reader, 5) == 0


@examples(60)
@given(
    times=st.lists(st.integers(0, 30), min_size=1, max_size=24),
    since=st.integers(0, 31),
    first=st.integers(0, 24),
    format=st.sampled_from([(2, 0), (2, 1), (1, 0), (1, 1)]),
)
def test_nothing_wanted_is_skipped(
    tmp_path_factory: pytest.TempPathFactory,
    times: list[int],
    since: int,
    first: int,
    format: tuple[int, int],
) -> None:
    """Whatever order the times have, the walk from the start gives what the walk from byte 0 gives."""
    entry = indexed(tmp_path_factory.mktemp("log"), times, magic=format[0], codec=format[1])
    selection = Selection(since=since, first_offset=first)
    begin = start(entry, since=since, first_offset=first)
    assert offsets(entry, begin, selection) == offsets(entry, 0, selection)


@pytest.mark.parametrize(("magic", "codec"), [(2, 0), (2, 1), (1, 0), (1, 1), (0, 0)])
def test_the_start_is_near(magic: int, codec: int, tmp_path: Path) -> None:
    entry = indexed(tmp_path, [START + n for n in range(200)], magic=magic, codec=codec)
    late = start(entry, first_offset=190)
    assert late > entry.size * 0.9
    assert start(entry, first_offset=10) < entry.size * 0.1
    if magic:
        assert start(entry, since=START + 190) > entry.size * 0.9
        assert start(entry, since=START + 10, first_offset=190) == late
        assert start(entry, since=START + 10**6) > entry.size * 0.9
    assert start(entry, since=START) == 0


@pytest.mark.parametrize(
    ("name", "entries"),
    [
        ("a time that no batch has", [(START + 999, 150)]),
        ("an offset of another batch", [(START + 100, 150)]),
        ("times out of order", [(START + 150, 150), (START + 100, 160)]),
        ("offsets out of order", [(START + 100, 150), (START + 150, 100)]),
        ("an offset past the end", [(START + 100, 10**6)]),
        ("nothing", []),
    ],
)
def test_a_false_time_index_is_not_believed(
    name: str, entries: list[tuple[int, int]], tmp_path: Path
) -> None:
    entry = indexed(tmp_path, [START + n for n in range(200)])
    (tmp_path / f"{ZERO}.timeindex").write_bytes(b"".join(struct.pack(">qi", *pair) for pair in entries))
    with FileReader(entry.path) as reader:
        assert position_by_time(entry, reader, START + 1000) == 0
    (tmp_path / f"{ZERO}.timeindex").unlink()
    assert start(entry, since=START + 1000) == 0


def test_bytes_after_the_last_whole_entry_do_not_matter(tmp_path: Path) -> None:
    """A crash leaves preallocated zeros behind the entries, and perhaps a part of one."""
    entry = indexed(tmp_path, [START + n for n in range(200)])
    wanted = start(entry, since=START + 150, first_offset=1)
    for suffix in (".index", ".timeindex"):
        lengthen(tmp_path / f"{ZERO}{suffix}", bytes(1003))
    assert start(entry, since=START + 150, first_offset=1) == wanted > 0


@pytest.mark.parametrize(
    "selected",
    one_in(
        2,
        [
            ("--since", START + 500, "--offset", "500..505"),
            ("--since", START + 500),
            ("--offset", "500..505"),
        ],
    ),
)
@pytest.mark.parametrize("mode", one_in(2, [("--records",), ()]))
def test_show_reads_only_what_it_needs(
    selected: tuple[object, ...], mode: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 32 MiB no more than the part that is shown and three windows are read."""
    entry = indexed(tmp_path, [START + n for n in range(512)], value=bytes(BIG))
    read: list[int] = []
    real = FileReader.read_into

    def counting(self: FileReader, buffer: memoryview, position: int) -> int:
        got = real(self, buffer, position)
        if self.path == entry.path:
            read.append(got)
        return got

    monkeypatch.setattr(FileReader, "read_into", counting)
    ran = run("show", entry.path, "--json", *mode, *selected)
    assert len(ran.of("record" if mode else "batch")) in (12, 6, 3)
    assert sum(read) < 5 << 20 < entry.size / 6
    (tmp_path / f"{ZERO}.index").unlink()
    read.clear()
    assert run("show", entry.path, "--json", *mode, *selected).out == ran.out
    assert sum(read) > entry.size * 0.9
