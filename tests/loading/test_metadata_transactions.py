"""What a controller wrote of a transaction (KIP-868) counts once it has ended, and not if it was taken back.

Played on 3.6.2, 3.9.2 and 4.3.1: a partition that only such a transaction makes became a stray.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.checks import build_metadata as metadata
from tests.checks import build_partition as build
from tests.faults.written import SECOND_ID, two_dirs, with_metadata

from segmend.loading import BrokerOutcome, ForecastOptions, PartitionOutcome, forecast
from segmend.loading.run import Line
from segmend.logdir.config import ServerConfig

DIRECTORIES = [build.DIRECTORY_ID, SECOND_ID]
GONE = metadata.remove_topic(build.topic_id("v"))
MADE = [
    metadata.topic("v", build.topic_id("v")),
    metadata.partition(build.topic_id("v"), 0, (metadata.NODE,)),
]


def started(root: Path, records: Sequence[bytes]) -> list[Line]:
    dirs = with_metadata(records, two_dirs)(root)
    return list(forecast(broker_of(dirs, "4.3"), ForecastOptions()))


def outcome(root: Path, topics: Sequence[str], more: Sequence[bytes]) -> str:
    """What becomes of the partition of `v`."""
    lines = started(root, [*metadata.cluster(topics, directory_ids=DIRECTORIES), *more])
    return next(str(x.outcome) for x in lines if isinstance(x, PartitionOutcome) and x.topic == "v")


@pytest.mark.parametrize(
    ("behind", "removed", "made"),
    [
        ([metadata.END], "stray", "served"),
        ([metadata.ABORT], "served", "stray"),
        ([], "served", "stray"),
        ([metadata.ABORT, metadata.BEGIN, metadata.topic("w", build.topic_id("w"))], "served", "stray"),
    ],
)
def test_of_a_transaction_only_what_has_ended_counts(
    behind: list[bytes], removed: str, made: str, tmp_path: Path
) -> None:
    without = outcome(tmp_path / "removed", "tuv", [metadata.BEGIN, GONE, *behind])
    new = outcome(tmp_path / "made", "tu", [metadata.BEGIN, *MADE, *behind])
    assert (without, new) == (removed, made)


@pytest.mark.parametrize(
    ("odd", "says"),
    [
        ([metadata.END], "Encountered EndTransactionRecord without having seen a BeginTransactionRecord"),
        ([metadata.ABORT], "Encountered AbortTransactionRecord without having seen a BeginTransactionRecord"),
        (
            [metadata.BEGIN, metadata.BEGIN],
            "Encountered BeginTransactionRecord while already in a transaction",
        ),
        ([b"\x01\x63\0\0"], "Unknown metadata id 99"),
    ],
)
def test_a_node_ends_over_records_that_it_does_not_expect(
    odd: list[bytes], says: str, tmp_path: Path
) -> None:
    """Seen on 4.3.1."""
    last = started(tmp_path, [*metadata.cluster("tuv", directory_ids=DIRECTORIES), *odd])[-1]
    assert isinstance(last, BrokerOutcome)
    assert not last.starts
    assert says in (last.reason or "")


@pytest.mark.parametrize(("covered", "starts"), [(0, False), (-1, True), (None, True)])
def test_a_transaction_right_behind_a_snapshot_ends_the_node(
    covered: int | None, starts: bool, tmp_path: Path
) -> None:
    """Seen on 3.6.2 to 4.3.1: one in memory is made at its end, and one before it for the begin."""
    records = metadata.cluster("tu", directory_ids=DIRECTORIES)
    dirs = with_metadata([*records, metadata.BEGIN, *MADE, metadata.END], two_dirs)(tmp_path)
    if covered is not None:
        first = records[: len(records) + covered]
        name = f"{len(first):020}-{2:010}.checkpoint"
        (dirs[0] / "__cluster_metadata-0" / name).write_bytes(b"".join(metadata.snapshot(first, epoch=2)))
    last = list(forecast(broker_of(dirs, "4.3"), ForecastOptions()))[-1]
    assert isinstance(last, BrokerOutcome)
    assert last.starts == starts
    assert starts or "Can't create a new in-memory snapshot" in (last.reason or "")
    path = tmp_path / "server.properties"
    path.write_text(
        "process.roles=broker\nnode.id=1\ncontroller.quorum.voters=9@localhost:9093\n"
        f"controller.listener.names=CONTROLLER\nlog.dirs={','.join(map(str, dirs))}\n"
    )
    last = list(forecast(broker_of(dirs, "4.3", ServerConfig.load(str(path))), ForecastOptions()))[-1]
    assert isinstance(last, BrokerOutcome)
    assert last.starts, "a broker alone makes no such snapshots"


@pytest.mark.parametrize("behind", [[], [metadata.ABORT], [metadata.END]])
def test_what_is_taken_back_is_replayed_before(behind: list[bytes], tmp_path: Path) -> None:
    """Seen on 3.6.2: it ended over a partition of no topic, in a transaction that had not ended."""
    lost = metadata.partition(build.topic_id("nobody"), 0, (metadata.NODE,))
    records = metadata.cluster("tuv", directory_ids=DIRECTORIES)
    last = started(tmp_path, [*records, metadata.BEGIN, lost, *behind])[-1]
    assert isinstance(last, BrokerOutcome)
    assert not last.starts
    assert "no topic with that ID was found" in (last.reason or "")
