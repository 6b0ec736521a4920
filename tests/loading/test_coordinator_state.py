"""Whose committed offsets and transactions a loss concerns, where the records of internal topics tell it."""

from pathlib import Path

import pytest
from tests.checks.build_partition import PartitionWriter, write_log_dir
from tests.cli.run import run
from tests.faults.on_disk import flip
from tests.golden.unpack import unpack
from tests.lab.upgrade import ARCHIVES

from segmend.formats.build import NewRecord, build_batch
from segmend.loading import coordinator_state
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release
from segmend.node.metadata_image import MetadataImage


@pytest.fixture
def dirs(tmp_path: Path) -> list[Path]:
    """One group has committed, one transactional id has written; whose partition is whose, chance decided."""
    return sorted(unpack(ARCHIVES / "4.3.1.tar.xz", tmp_path).glob("b1/d*"))


def log_of(dirs: list[Path], topic: str) -> Path:
    found = (log for each in dirs for log in each.glob(f"{topic}-*/*.log"))
    return max(found, key=lambda log: log.stat().st_size)


@pytest.mark.parametrize(
    ("topic", "what", "holder"),
    [
        ("__consumer_offsets", "groups", "upgraders"),
        ("__transaction_state", "transactional ids", "upgrade-txn"),
    ],
)
def test_a_lost_end_of_an_internal_topic_names_whom_it_concerns(
    dirs: list[Path], topic: str, what: str, holder: str
) -> None:
    log = log_of(dirs, topic)
    whole = run("forecast", *dirs, "--kafka", "4.3.1", "--json").of("partition")
    assert not any(each["concerns"] for each in whole)
    flip(log, 61)
    ran = run("forecast", *dirs, "--kafka", "4.3.1", "--unclean", "--json", code=4)
    told = [each["concerns"] for each in ran.of("partition") if each["concerns"]]
    assert told == [{"what": what, "gone": [holder], "stays": [], "whole": True}]
    assert f"lost is state of {what} {holder}" in run("forecast", *dirs, "--kafka", "4.3.1", "--unclean").out


def test_what_a_clean_stop_leaves_unread_may_keep_a_coordinator_from_loading(dirs: list[Path]) -> None:
    """4.3.1 answered NOT_COORDINATOR for each group of such a partition, 3.6.2 that nothing was committed."""
    flip(log_of(dirs, "__consumer_offsets"), 70)
    ran = run("forecast", *dirs, "--kafka", "4.3.1", code=4)
    assert "it still has state of groups upgraders; newer state of them may be lost" in ran.out
    assert "if it fails there, its groups get errors, or start anew" in ran.out


def test_a_cluster_names_them_too(dirs: list[Path]) -> None:
    log = log_of(dirs, "__consumer_offsets")
    whole = run("forecast", "--cluster", *dirs, "--kafka", "4.3.1", "--json").of("partition")
    assert not any(copy["concerns"] for each in whole for copy in each["copies"])
    flip(log, 61)
    words = ("forecast", "--cluster", *dirs, "--kafka", "4.3.1", "--unclean")
    ran = run(*words, "--json", code=4)
    told = [copy["concerns"] for each in ran.of("partition") for copy in each["copies"] if copy["concerns"]]
    assert [(each["what"], each["gone"]) for each in told] == [("groups", ["upgraders"])]
    assert "gone from it is state of groups upgraders" in run(*words, code=4).out


@pytest.mark.parametrize("behind", [0, 100])
def test_a_newer_value_is_seen_at_the_end_of_a_large_log(
    behind: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A segment of offsets has 100 MB by default, of which the end tells who wrote last."""
    monkeypatch.setattr(coordinator_state, "_LAST_WRITTEN", 1 << 16)
    home = write_log_dir(tmp_path / "a", [PartitionWriter("__consumer_offsets")])
    place = home / "__consumer_offsets-0"
    (log,) = place.glob("*.log")
    records = [*(NewRecord(key=b"\0\1k", value=b"\0\1" + bytes(1000)) for _ in range(100))]
    old = b"".join(build_batch([each], base_offset=at) for at, each in enumerate(records))
    new = build_batch([NewRecord(key=b"\0\1k", value=b"\0\3v")], base_offset=len(records))
    more = build_batch([NewRecord(key=b"\0\1k", value=b"\0\1" + bytes(behind))], base_offset=len(records) + 1)
    log.write_bytes(old + new + more)
    partition = LogDir.open(str(home)).partition(place.name)
    assert partition is not None
    told = coordinator_state.not_loaded(partition, Release.parse("1.1"))
    assert told is not None
    assert "version 3 of a value" in told
    assert coordinator_state.not_loaded(partition, Release.parse("2.3")) is None


@pytest.mark.parametrize(
    ("topic", "key", "value", "says"),
    [
        ("__consumer_offsets", 1, 4, "version 4 of a value"),
        ("__consumer_offsets", 3, 0, "a key of version 3"),
        ("__consumer_offsets", 1, 3, None),
        ("__transaction_state", 0, 1, "version 1 of a value"),
        ("__transaction_state", 0, 0, None),
    ],
)
def test_a_release_before_3_4_1_may_not_read_what_one_since_4_wrote(
    topic: str, key: int, value: int, says: str | None, tmp_path: Path
) -> None:
    """Seen on 3.3.2: "Error loading offsets from", "Error loading transactions from"."""
    home = write_log_dir(tmp_path / "a", [PartitionWriter(topic)])
    (log,) = (home / f"{topic}-0").glob("*.log")
    record = NewRecord(key=key.to_bytes(2, "big") + b"k", value=value.to_bytes(2, "big") + b"v")
    log.write_bytes(build_batch([record], base_offset=0))
    partition = LogDir.open(str(home)).partition(f"{topic}-0")
    assert partition is not None
    newer, older = MetadataImage(levels={1: 27}), MetadataImage(levels={1: 7})
    told = coordinator_state.not_loaded(partition, Release.parse("3.3.2"), newer)
    assert told is None if says is None else says in str(told)
    for release, image in (("3.3.2", older), ("3.4.1", newer), ("3.3.2", None)):
        assert coordinator_state.not_loaded(partition, Release.parse(release), image) is None


def test_a_start_that_ends_leaves_no_groups_open(dirs: list[Path]) -> None:
    """3.3.2 refuses dirs of 4.3.1 for their directory ids: its coordinators read nothing."""
    ran = run("forecast", *dirs, "--kafka", "3.3.2", "--json", code=4)
    assert ran.json[-1]["outcome"] == "refuses"
    assert not any("does not know" in each for each in ran.json[-1]["unknown"])
