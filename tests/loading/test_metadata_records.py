"""Metadata records under right checksums that do not fit those before them: what a node ends over.

Each was seen on real brokers, or is in their classes; `tests/lab/disasters/images.py` draws more.
"""

from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.checks import build_metadata as metadata
from tests.checks import build_partition as build
from tests.faults.written import clean_dir, with_metadata
from tests.topics.rendered import framed

from segmend.formats.schema import messages
from segmend.loading import BrokerOutcome, ForecastOptions, forecast
from segmend.topics.metadata import RECORDS

MESSAGES = {message.name: (kind, message) for kind, message in messages(RECORDS).items()}
OTHER = "5Ck7mLhOSHGMUSQB0K3Dfg"
SOUND = metadata.cluster(["t"])


def written(what: str, version: int = 0, /, **fields: object) -> bytes:
    """A record by its kind; what is left out has its usual value."""
    kind, message = MESSAGES[what]
    return framed(kind, message, version, fields)


def last(records: list[bytes], root: Path, release: str) -> BrokerOutcome:
    dirs = with_metadata(records, clean_dir)(root)
    lines = forecast(broker_of(list(dirs), release), ForecastOptions())
    return next(line for line in lines if isinstance(line, BrokerOutcome))


OF_3_3 = [
    metadata.feature("metadata.version", 7), written("REGISTER_BROKER_RECORD", 1, brokerId=1, brokerEpoch=7),
    *SOUND[2:],
]  # fmt: skip
MISFITS = {
    "a second TopicRecord": ([metadata.topic("t", build.topic_id("t"))], "for t with topic ID"),
    "a second TopicRecord with another id": ([metadata.topic("t", OTHER)], "a different ID than before"),
    "a partition of no topic": ([metadata.partition(OTHER, 0, (1,))], "no topic with that ID was found"),
    "a change of no partition": (
        [written("PARTITION_CHANGE_RECORD", partitionId=7, topicId=build.topic_id("t"))],
        "no partition with that id was found",
    ),
    "the removal of no topic": ([metadata.remove_topic(OTHER)], "to remove"),
    "a broker that is not registered": ([written("UNFENCE_BROKER_RECORD", id=9)], "was not registered"),
    "another epoch of a broker": (
        [written("FENCE_BROKER_RECORD", id=1, epoch=6)], "did not match the current broker epoch, 7"
    ),
    "producer ids that go back": ([metadata.producer_ids(5)], "is not greater than current"),
    "the removal of no ACL": ([written("REMOVE_ACCESS_CONTROL_ENTRY_RECORD", id=OTHER)], "no acl with"),
    "the removal of no credential": (
        [written("REMOVE_USER_SCRAM_CREDENTIAL_RECORD", name="u", mechanism=1)], "credential to delete"
    ),
    "an unknown feature": ([metadata.feature("none", 1)], "only supports versions 0"),
    "a level that was replaced": (
        [metadata.feature("none", 1), metadata.feature("none", 0)], "only supports versions 0"
    ),
    "bytes behind a record": ([metadata.topic("u", OTHER) + b"\0"], "1 byte(s) of garbage"),
    "a transaction in a transaction": ([metadata.BEGIN, metadata.BEGIN], "already in a transaction"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISFITS)
def test_a_record_that_does_not_fit_ends_the_start(name: str, tmp_path: Path) -> None:
    records, says = MISFITS[name]
    found = last([*SOUND, *records], tmp_path, "4.3.1").to_json()
    assert found["outcome"] == "refuses"
    assert says in found["reason"]


def test_what_fits_does_not(tmp_path: Path) -> None:
    more = [
        metadata.topic("u", OTHER), metadata.partition(OTHER, 0, (2,)), metadata.remove_topic(OTHER),
        metadata.producer_ids(2_000_000), metadata.NO_OP,
        written("FENCE_BROKER_RECORD", id=1, epoch=7), written("UNFENCE_BROKER_RECORD", id=1, epoch=7),
    ]  # fmt: skip
    assert last([*SOUND, *more], tmp_path, "4.3.1").to_json()["outcome"] == "starts"


def test_a_second_topic_record_ended_nobody_before_it_was_looked_for(tmp_path: Path) -> None:
    """In Kafka's sources since 3.6.0; the partitions of the first are gone by it, and become strays."""
    found = last([*OF_3_3, metadata.topic("t", build.topic_id("t"))], tmp_path, "3.5.2").to_json()
    assert found["outcome"] == "starts"
    assert (found["lost"]["partitions"], found["unserved"]) != (0, 0)


def test_up_to_3_3_a_record_that_cannot_be_read_leaves_a_doubt(tmp_path: Path) -> None:
    """Seen on 3.3.2: it logs a fault, and goes on without the batch."""
    found = last([*OF_3_3, metadata.topic("u", OTHER) + b"\0"], tmp_path, "3.3.2").to_json()
    assert found["outcome"] == "starts"
    assert any("garbage" in each for each in found["unknown"])


def test_a_newer_version_is_read_as_the_newest_that_is_known(tmp_path: Path) -> None:
    """Seen on 3.6.2: only structures in a record look at the version, and bytes that are left over."""
    level = metadata.feature("metadata.version", 14)
    change = {"partitionId": 0, "topicId": build.topic_id("t")}
    read = [level, *SOUND[2:], written("PARTITION_CHANGE_RECORD", 2, **change)]
    registered = written(
        "REGISTER_BROKER_RECORD", 2, brokerId=1, brokerEpoch=7,
        endPoints=[{"name": "PLAINTEXT", "host": "h", "port": 1}],
    )  # fmt: skip
    assert last([level, registered, *read[1:]], tmp_path / "one", "3.6.2").to_json()["outcome"] == "starts"
    newer = registered[:2] + b"\x03" + registered[3:]
    assert last([level, newer, *read[1:]], tmp_path / "two", "3.6.2").to_json()["outcome"] == "refuses"


def test_a_record_is_read_by_the_table_of_each_release(tmp_path: Path) -> None:
    """Of a version that nobody knows, 3.6.2 reads what is in it as the only one that it does."""
    level = metadata.feature("metadata.version", 11)
    registered = written("REGISTER_BROKER_RECORD", 1, brokerId=1, brokerEpoch=7)
    odd = metadata.partition(build.topic_id("t"), 0, (1,))
    odd = odd[:2] + b"\x04" + odd[3:]
    first = next(at for at, each in enumerate(SOUND) if each[:2] == odd[:2])
    records = [level, registered, *SOUND[2:first], odd, *SOUND[first + 1 :]]
    found = last(records, tmp_path / "one", "3.6.2")
    assert (found.starts, found.unknown) == (True, ())
    assert not last(records, tmp_path / "two", "3.9.2").starts


def test_up_to_3_3_nothing_is_sure_of_records_behind_one_that_it_cannot_read(tmp_path: Path) -> None:
    """Seen on 3.3.2: a PartitionRecord of 3.7 for no topic, over which a release that reads it would end."""
    foreign = metadata.partition(OTHER, 0, (1,), [OTHER])
    found = last([*OF_3_3, foreign], tmp_path / "one", "3.3.2")
    assert found.starts
    assert any("Failed to deserialize record with type 3" in each for each in found.unknown)
    sure = last([*OF_3_3, metadata.partition(OTHER, 0, (1,))], tmp_path / "two", "3.3.2")
    assert "no topic with that ID was found" in str(sure.reason)
