"""A flipped bit of a base offset, which no checksum covers: a batch in the wrong place, and no compaction."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.fleet.build import three_brokers


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    return three_brokers(tmp_path / "fleet")


def leap(log: Path, by: int) -> int:
    """Move the last batch of a log that many offsets up; the first one it had."""
    data, position, last = bytearray(log.read_bytes()), 0, 0
    while position < len(data):
        last = position
        position += 12 + int.from_bytes(data[position + 8 : position + 12])
    first = int.from_bytes(data[last : last + 8])
    data[last : last + 8] = (first + by).to_bytes(8)
    log.write_bytes(data)
    return first


def told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, dirs: Sequence[Path]
) -> tuple[int, dict[str, object], list[int]]:
    out = tmp_path / "out"
    ran = run(capsys, "rescue", *dirs, "--topic", "orders", "--out", out, "--as", "jsonl", "--json")
    line = next(each for each in map(json.loads, ran.out.splitlines()) if each.get("partition") == 0)
    rows = (out / "orders-0.jsonl").read_text().splitlines()
    return ran.code, line, [json.loads(row)["offset"] for row in rows]


def test_the_others_have_what_was_moved(
    fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dirs = sorted(path.parent for path in fleet.rglob("meta.properties"))
    logs = sorted((dirs[1] / "orders-0").glob("*.log"))
    for log, by in ((logs[-1], 1 << 21), (logs[0], 1)):
        leap(log, by)
    # Damage elsewhere is filled from the one that leapt, and the other way round: no key was removed.
    hurt = sorted((dirs[0] / "orders-0").glob("*.log"))[1]
    data = bytearray(hurt.read_bytes())
    data[-1] ^= 1
    hurt.write_bytes(data)
    code, line, offsets = told(capsys, tmp_path, dirs[:2])
    assert (code, line["missing"], line["next_offset"]) == (0, [], 120)
    assert offsets == list(range(120))


def test_alone_it_is_said_and_no_offset_is_made_up(
    fleet: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = sorted((fleet / "b1/data/orders-0").glob("*.log"))[-1]
    first = leap(log, 1 << 21)
    code, line, offsets = told(capsys, tmp_path, [fleet / "b1/data"])
    assert code == 4
    assert offsets == list(range(first))
    assert line["missing"] == [[first, 119]]  # up to the high watermark, which the checkpoint has
