"""A batch of an old format behind the last index entry: since 4.1 a start decompresses it.

Played: a batch whose magic byte became 1 in the active segment, its time index gone, after a clean stop:
4.3.1 refused ("IndexOutOfBoundsException", in `FileRecords.searchForOffsetFromPosition`).
"""

from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.checks import build_partition as build
from tests.checks.build_partition import PartitionWriter

from segmend.loading import BrokerOutcome, ForecastOptions, forecast


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
    *_, last = forecast(broker_of(with_last(bytes(broken), tmp_path), release), ForecastOptions())
    assert isinstance(last, BrokerOutcome)
    assert last.starts == starts


def test_a_sound_one_is_found(tmp_path: Path) -> None:
    *_, last = forecast(broker_of(with_last(sound(), tmp_path), "4.1"), ForecastOptions())
    assert isinstance(last, BrokerOutcome)
    assert last.starts


@pytest.mark.parametrize("release", ["2.7", "2.8"])
@pytest.mark.parametrize("first", [0, 3])
@pytest.mark.parametrize("ended", [(1,), (1, 2)])
def test_two_transactions_that_begin_at_one_offset_are_one_entry(
    ended: tuple[int, ...], first: int, release: str, tmp_path: Path
) -> None:
    """The end of the one takes it away, and the end of the other ends the start."""
    writer = PartitionWriter("t")
    if first:
        writer.append(first)
    for producer in (1, 2):
        data = build.batch(first, [build.record(0, None, b"v")], producer=producer, attributes=0x10)
        writer.write(data, producer - 1, writer.clock)
    for producer in ended:
        writer.write(build.marker_batch(writer.next_offset, producer, build.COMMIT), 1, writer.clock)
    log_dir = build.write_log_dir(tmp_path / "a", [writer], clean=False)
    (log_dir / "meta.properties").write_text("version=0\nbroker.id=1\n")
    *_, last = forecast(broker_of([log_dir], release), ForecastOptions())
    assert isinstance(last, BrokerOutcome)
    words = f"transaction of first offset {first} on partition t-0 which was not started"
    assert (last.starts, words in str(last.reason)) == ((True, False) if ended == (1,) else (False, True))
