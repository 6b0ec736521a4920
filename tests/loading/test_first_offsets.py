"""A batch of an old format behind the last index entry: since 4.1 a start decompresses it.

Played: a batch whose magic byte became 1 in the active segment, its time index gone, after a clean stop:
4.3.1 refused ("IndexOutOfBoundsException", in `FileRecords.searchForOffsetFromPosition`).
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.checks import build_partition as build
from tests.checks.build_partition import PartitionWriter

from segmend.loading import BrokerOutcome, Options, forecast


def with_last(entry: bytes, root: Path) -> list[Path]:
    """A log dir whose only log ends with this entry, right behind the batch of the last index entry."""
    writer = PartitionWriter("t", interval=0)
    writer.append(3)
    writer.append(3)
    writer.interval = len(entry) * 9
    writer.write(entry, 3, writer.clock)
    return [build.write_log_dir(root / "a", [writer], clean=True)]


def sound() -> bytes:
    """A wrapper of three messages."""
    return build.wrapper(8, [build.legacy_message(number, b"v" * 30) for number in range(3)])


@pytest.mark.parametrize("codec", [1, 6])
@pytest.mark.parametrize(("release", "starts"), [("4.0", True), ("4.1", False)])
def test_one_that_cannot_be_decompressed_ends_the_start(
    release: str, starts: bool, codec: int, tmp_path: Path
) -> None:
    whole = sound()
    broken = bytearray(whole)
    broken[17] = codec
    broken[-40:] = bytes(40)
    *_, last = forecast(broker_of(with_last(bytes(broken), tmp_path), release), Options())
    assert isinstance(last, BrokerOutcome)
    assert last.starts == starts


def test_a_sound_one_is_found(tmp_path: Path) -> None:
    *_, last = forecast(broker_of(with_last(sound(), tmp_path), "4.1"), Options())
    assert isinstance(last, BrokerOutcome)
    assert last.starts
