"""Whatever a leader or follower lawfully wrote, stopped or killed, no check of any level calls it damage."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st
from tests.brokers import broker_of
from tests.checks import build_partition as build
from tests.checks.build_partition import PartitionWriter
from tests.conftest import examples
from tests.memory import swift

from segmend.checks import CheckRun, Level

Step = Callable[[PartitionWriter], object]


def begin(producer: int) -> Step:
    return lambda w: w.append(2, producer=producer, transactional=True)


def end(producer: int, *, abort: bool) -> Step:
    def step(writer: PartitionWriter) -> None:
        entry = writer.producers.get(producer)
        if entry is not None:
            (writer.abort if abort else writer.commit)(producer, coordinator=max(entry.coordinator_epoch, 0))

    return step


def fence(producer: int) -> Step:
    """A new epoch, as InitProducerId gives it: sequences begin anew, an open transaction is aborted first."""

    def step(writer: PartitionWriter) -> None:
        entry = writer.producers.get(producer)
        if entry is None:
            return
        entry.epoch += 1
        entry.last_sequence = entry.last_offset = -1
        entry.offset_delta = 0
        writer.abort(producer, coordinator=max(entry.coordinator_epoch, 0))

    return step


def new_epoch(writer: PartitionWriter) -> None:
    writer.epoch += 1


def older_timestamps(writer: PartitionWriter) -> None:
    writer.clock -= 30_000


def roll(writer: PartitionWriter) -> None:
    if writer.segments[-1].log:
        writer.roll()


STEPS: list[Step] = [
    lambda w: w.append(1),
    lambda w: w.append(5, codec=1),
    lambda w: w.append(3, producer=7),
    lambda w: w.append(4, size=300),
    lambda w: w.fetch(7),
    *(begin(producer) for producer in (8, 9)),
    *(end(producer, abort=abort) for producer in (8, 9) for abort in (True, False)),
    fence(8),
    new_epoch,
    older_timestamps,
    roll,
]


@examples(25)
@given(
    steps=st.lists(st.sampled_from(STEPS), min_size=1, max_size=45),
    clean=st.booleans(),
    base=st.sampled_from([0, 70]),
    beheaded=st.integers(0, 3),
)
def test_no_lawful_history_is_damage(steps: list[Step], clean: bool, base: int, beheaded: int) -> None:
    writer = PartitionWriter("t", base=base, interval=200)
    for step in steps:
        step(writer)
    writer.behead(beheaded)
    # The only fault retention can make: it took the beginning of a transaction that is still open.
    expected = (
        {"P08"} if any(0 <= e.open_offset < writer.log_start for e in writer.producers.values()) else set()
    )
    with swift() as folder:
        path = build.write_log_dir(folder / "d", [writer], clean=clean)
        for level in Level:
            found = list(CheckRun(broker_of([path], "4.3"), level=level))
            assert not [finding.to_json() for finding in found if finding.code not in expected]
