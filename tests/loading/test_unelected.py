"""A partition whose metadata has nobody in sync: the log is loaded, and nobody leads it.

Seen on 4.3.1 and 3.9.2. So it stands where eligible leader replicas were switched off
(ClearElrRecord) while the ISR was empty.
"""

import struct
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.checks import build_metadata as metadata
from tests.checks import build_partition as build
from tests.faults.written import SECOND_ID, two_dirs, with_metadata

from segmend.loading import BrokerOutcome, ForecastOptions, PartitionOutcome, forecast
from segmend.logdir.config import ServerConfig

UNCLEAN = "unclean.leader.election.enable"
ALONE = f"{metadata.NODE}@localhost:9093"


def nobody_in_sync(topic: str) -> bytes:
    """PartitionRecord with an empty ISR, and without a leader."""
    nodes = metadata.compact([struct.pack(">i", metadata.NODE)])
    fields = struct.pack(">i", 0) + metadata.uuid(build.topic_id(topic)) + nodes + metadata.compact([]) * 3
    return b"\x01\x03\x00" + fields + struct.pack(">iii", -1, metadata.EPOCH + 1, 1) + b"\0"


@pytest.mark.parametrize(
    ("voters", "more", "outcome", "clear"),
    [
        (ALONE, {}, "unserved", False),
        (ALONE, {UNCLEAN: "true"}, "served", True),
        (f"{ALONE},2@other:9093", {}, "served", False),
    ],
)
def test_nobody_leads_what_nobody_is_in_sync_of(
    voters: str, more: dict[str, str], outcome: str, clear: bool, tmp_path: Path
) -> None:
    known = metadata.cluster("tuv", directory_ids=[build.DIRECTORY_ID, SECOND_ID])
    dirs = with_metadata([*known, nobody_in_sync("u")], two_dirs)(tmp_path)
    given = {
        "process.roles": "broker,controller",
        "node.id": str(metadata.NODE),
        "log.dirs": ",".join(map(str, dirs)),
        "controller.listener.names": "CONTROLLER",
        "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
        "controller.quorum.voters": voters,
        **more,
    }
    lines = list(forecast(broker_of(dirs, "4.3", ServerConfig(given=given)), ForecastOptions()))
    found = {line.topic: line.outcome for line in lines if isinstance(line, PartitionOutcome)}
    assert found == {"t": "served", "u": outcome, "v": "served"}
    last = lines[-1]
    assert isinstance(last, BrokerOutcome)
    assert last.nothing_lost is clear
