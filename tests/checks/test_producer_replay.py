"""Composing the folds of single segments gives what one replay of the whole log gives."""

import struct
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tests.brokers import broker_of
from tests.checks.build_partition import PartitionWriter, write_log_dir
from tests.checks.test_healthy_histories import STEPS, Step
from tests.conftest import examples
from tests.faults.producers import lost_at

from segmend.checks import CheckRun, Level
from segmend.formats.producer_snapshot import ProducerStateEntry
from segmend.kernel.scan import ScanTask, scan_log
from segmend.kernel.types import BytesReader
from segmend.logdir.txnindex_rows import composed


def written(writer: PartitionWriter) -> dict[int, ProducerStateEntry]:
    """The state as the writer would persist it."""
    data = writer.snapshot()
    rows = struct.iter_unpack(">qhiqiqiq", data[10:])
    return {row[0]: ProducerStateEntry._make(row) for row in rows}


@examples(60)
@given(steps=st.lists(st.sampled_from(STEPS), max_size=50))
def test_composed_is_what_the_broker_persists(steps: list[Step]) -> None:
    writer = PartitionWriter("t")
    for step in steps:
        step(writer)
    states: dict[int, ProducerStateEntry] = {}
    for segment in writer.segments:
        scan = scan_log(BytesReader(bytes(segment.log)), ScanTask(base_offset=segment.base))
        for state in scan.producers:
            states[state.producer_id] = composed(states.get(state.producer_id), state)
    assert states == written(writer)


@examples(40)
@given(steps=st.lists(st.sampled_from(STEPS), max_size=50))
def test_the_transaction_index_is_what_the_kernel_would_write(steps: list[Step]) -> None:
    writer = PartitionWriter("t")
    for step in steps:
        step(writer)
    states: dict[int, ProducerStateEntry] = {}
    for segment in writer.segments:
        reader = BytesReader(bytes(segment.log))
        scan = scan_log(reader, ScanTask(base_offset=segment.base, producers=tuple(states.values())))
        rows = (
            (row.producer_id, row.first_offset, row.last_offset, row.last_stable_offset)
            for row in scan.aborted
        )
        assert b"".join(struct.pack(">hqqqq", 0, *row) for row in rows) == bytes(segment.txnindex)
        states = {state.producer_id: state for state in scan.producers}


def test_an_aborted_transaction_may_go_on_in_the_next_segment(tmp_path: Path) -> None:
    writer = PartitionWriter("t")
    writer.append(2, producer=8, transactional=True)
    writer.roll()
    writer.append(2, producer=8, transactional=True)
    writer.abort(8)
    path = write_log_dir(tmp_path / "d", [writer])
    assert not list(CheckRun(broker_of([path], "4.3"), level=Level.DEFAULT))


def test_an_abort_between_two_segments_is_missed(tmp_path: Path) -> None:
    """The index of the segment that it ended tells of it, and what follows begins one offset later."""
    log_dir = tmp_path / "data"
    write_log_dir(log_dir, [lost_at("end")()])
    found = [each for each in CheckRun(broker_of([log_dir]), level=Level.DEEP) if each.code == "P09"]
    assert [(each.file, each.offset) for each in found] == [("t-0/00000000000000000000.log", 5)]
