"""I25 says what brokers up to 2.2 said of each index at a start, release by release."""

import struct
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.checks import build_partition as build
from tests.conftest import expected, golden_names
from tests.golden.shared import golden

from segmend.checks import CheckRun, Level
from segmend.findings import Finding

NAME = "t-0/00000000000000000100"


def entries(*rows: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">ii", *row) for row in rows)


def times(*rows: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">qi", *row) for row in rows)


def said(folder: Path, release: str, index: bytes, timeindex: bytes) -> list[Finding]:
    writer = build.PartitionWriter("t", base=100)
    for _ in range(3):
        writer.append(2)
    path = build.write_log_dir(folder / "d", [writer])
    (path / f"{NAME}.index").write_bytes(index)
    (path / f"{NAME}.timeindex").write_bytes(timeindex)
    run = CheckRun(broker_of([path], release), level=Level.STARTUP)
    return [finding for finding in run if finding.code == "I25"]


GOOD_INDEX, GOOD_TIMES = entries((2, 90), (4, 180)), times((5000, 2), (6000, 4))
CASES = [
    # release, .index, .timeindex, words of the broker
    ("1.1.0", b"", b"", None),
    ("1.1.0", GOOD_INDEX, GOOD_TIMES, None),
    ("1.1.0", bytes(80), GOOD_TIMES, "which is no greater than the base offset 100."),
    ("1.1.0", entries((0, 0)), GOOD_TIMES, "but the last offset is 100 which is no greater than"),
    ("2.0.0", bytes(80), GOOD_TIMES, None),
    (
        "2.0.0",
        entries((-1, 0)),
        GOOD_TIMES,
        "but the last offset is 99 which is less than the base offset 100.",
    ),
    (
        "2.2.0",
        GOOD_INDEX + b"\1",
        GOOD_TIMES,
        "found 17 bytes which is neither positive nor a multiple of 8.",
    ),
    (
        "2.2.0",
        GOOD_INDEX,
        GOOD_TIMES + b"\1",
        "found 25 bytes which is neither positive nor a multiple of 12.",
    ),
    (
        "2.2.0",
        GOOD_INDEX,
        GOOD_TIMES + bytes(24),
        "the last timestamp is 0 which is less than the first timestamp 5000",
    ),
    (
        "2.2.0",
        GOOD_INDEX,
        times((5000, 2), (6000, -1)),
        "the last offset is 99 which is less than the first offset 100",
    ),
    ("2.2.0", GOOD_INDEX, bytes(120), None),
    ("2.3.0", bytes(80), GOOD_TIMES + bytes(24), None),
    ("4.3", entries((-1, 0)) + b"\1", times((5000, 2), (4000, -1)), None),
]


@pytest.mark.parametrize(("release", "index", "timeindex", "words"), CASES)
def test_predicates(release: str, index: bytes, timeindex: bytes, words: str | None, tmp_path: Path) -> None:
    found = said(tmp_path, release, index, timeindex)
    if words is None:
        assert not found
        return
    (finding,) = found
    assert words in (finding.broker_says or "")
    assert finding.file == f"{NAME}.log"


def test_the_words_changed_in_1_1(tmp_path: Path) -> None:
    (old,) = said(tmp_path / "a", "1.0.0", bytes(80), GOOD_TIMES)
    (new,) = said(tmp_path / "b", "1.1.0", bytes(80), GOOD_TIMES)
    assert (old.broker_says or "").startswith("Found a corrupted index file due to requirement failed")
    assert (new.broker_says or "").startswith("Found a corrupted index file corresponding to log file")


def stem(file: str | None) -> str:
    """The segment: 0.10 names its index where 1.1 names its log."""
    return (file or "").rpartition(".")[0]


def checked(root: Path, name: str, release: str) -> set[tuple[str, str]]:
    found = set()
    for path in sorted((root / name).iterdir()):
        if path.is_dir():
            run = CheckRun(broker_of([path], release), level=Level.STARTUP)
            found |= {
                (path.name, stem(finding.file)) for finding in run if finding.code in ("I01", "I19", "I25")
            }
    return found


@pytest.mark.parametrize("name", [name for name in golden_names() if name.startswith(("0.10.2", "1.1"))])
def test_a_real_broker_warned_about_exactly_these(name: str) -> None:
    """What the real broker of that release logged when it was started on a copy of the directory."""
    told = expected(name)["restart"]["brokers"]
    assert told
    warned = 0
    for broker, answer in told.items():
        segments = {(row["dir"], stem(row["file"])) for row in answer["startup_warnings"]}
        assert checked(golden(name), broker, name.split("-")[0]) == segments
        warned += len(segments)
    assert bool(warned) == name.endswith("killed")
