"""A log as a stream: selection, starting by the index, damage in its place."""

from pathlib import Path

import pytest

from segmend.formats.build import NewRecord, build_batch
from segmend.logdir import walk as module
from segmend.logdir.files import FileEntry
from segmend.logdir.walk import BatchItem, DamageItem, RecordItem, Selection, walk

ZERO = "00000000000000000000"


def write(tmp_path: Path, *batches: bytes) -> FileEntry:
    """A log of these batches."""
    (tmp_path / f"{ZERO}.log").write_bytes(b"".join(batches))
    return FileEntry.at(f"{tmp_path}/{ZERO}.log")


def batch(base: int, count: int = 3, **options: object) -> bytes:
    records = [NewRecord(b"v%d" % n, timestamp=1000 + base + n) for n in range(count)]
    return build_batch(records, base_offset=base, **options)  # type: ignore[arg-type]


def items(entry: FileEntry, start: int = 0, **selected: int) -> list[module.Item]:
    with entry.reader() as reader:
        return list(walk(reader, base_offset=0, selection=Selection(**selected), start=start, records=True))


def offsets(entry: FileEntry, **selected: int) -> list[int]:
    return [item.record.offset for item in items(entry, **selected) if isinstance(item, RecordItem)]


@pytest.mark.parametrize(
    ("selected", "wanted"),
    [
        ({}, list(range(9))),
        ({"first_offset": 4}, [4, 5, 6, 7, 8]),
        ({"last_offset": 4}, [0, 1, 2, 3, 4]),
        ({"since": 1007}, [7, 8]),
        ({"until": 1001}, [0, 1]),
        ({"first_position": 1, "last_position": 200}, [3, 4, 5, 6, 7, 8]),
    ],
)
def test_selection(selected: dict[str, int], wanted: list[int], tmp_path: Path) -> None:
    assert offsets(write(tmp_path, batch(0), batch(3), batch(6)), **selected) == wanted


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", [0, 1])
def test_old_messages_and_their_wrappers(magic: int, codec: int, tmp_path: Path) -> None:
    entry = write(tmp_path, batch(0, magic=magic, codec=codec), batch(3, magic=magic, codec=codec))
    assert offsets(entry) == list(range(6))
    assert offsets(entry, first_offset=4, last_offset=4) == [4]
    found = [item.batch for item in items(entry) if isinstance(item, BatchItem)]
    if codec:
        assert [(b.base_offset, b.last_offset, b.records_count) for b in found] == [(0, 2, 3), (3, 5, 3)]


def test_damage_between_and_after(tmp_path: Path) -> None:
    entry = write(tmp_path, batch(0), b"\1" * 50, batch(3), bytes(30))
    damages = [item for item in items(entry) if isinstance(item, DamageItem)]
    first = len(batch(0))
    assert [(d.position, d.end) for d in damages] == [(first, first + 50), (2 * first + 50, 2 * first + 80)]
    assert damages[1].kind == "zero-tail"
    assert offsets(entry) == list(range(6))


def test_a_batch_too_large_to_look_into_still_has_its_checksum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "DECODE_LIMIT", 100)
    entry = write(tmp_path, batch(0, count=30), batch(30, count=30, magic=1, codec=1))
    found = items(entry)
    assert [item.valid for item in found if isinstance(item, BatchItem)] == [True, True]
    assert [item.kind for item in found if isinstance(item, DamageItem)] == ["too-large", "too-large"]


def test_undecodable_records_are_damage(tmp_path: Path) -> None:
    hurt = bytearray(batch(0, codec=1))
    hurt[70:] = bytes(len(hurt) - 70)
    kinds = [item.kind for item in items(write(tmp_path, bytes(hurt))) if isinstance(item, DamageItem)]
    assert "undecodable" in kinds
