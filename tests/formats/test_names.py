"""Names of directories and files: what the broker takes each for."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples

from segmend.formats.names import DirName, FileName, file_prefix, parse_dir_name, parse_file_name

HEX = "0123456789abcdef0123456789abcdef"


@pytest.mark.parametrize(
    ("name", "kind", "topic", "partition"),
    [
        ("t-0", "current", "t", 0),
        ("my.topic_x-y-12", "current", "my.topic_x-y", 12),
        ("backup-7", "current", "backup", 7),
        (".Trash-1000", "current", ".Trash", 1000),
        ("t-+5", "current", "t", 5),
        ("t--5", "current", "t-", 5),
        ("a b-1", "current", "a b", 1),
        ("t-2147483647", "current", "t", 2147483647),
        (f"t-1.{HEX}-delete", "delete", "t", 1),
        (f"t-1.{HEX}-future", "future", "t", 1),
        (f"t-1.{HEX}-stray", "stray", "t", 1),
        ("t-0.abc-delete", "delete", "t", 0),
        ("a.b-3.x-delete", "delete", "a.b", 3),
        ("__cluster_metadata-0", "cluster-metadata", "__cluster_metadata", 0),
        ("remote-log-index-cache", "remote-index-cache", "", -1),
    ],
)
def test_directories_the_broker_takes(name: str, kind: str, topic: str, partition: int) -> None:
    found = parse_dir_name(name)
    assert (found.kind, found.topic, found.partition) == (kind, topic, partition)


@pytest.mark.parametrize(
    "name",
    [
        "lost+found",
        "t-0.bak",
        "foo-delete",
        "t-0-delete",
        "-3",
        "t-",
        "t",
        "",
        "-",
        "t-2147483648",
        "t-1_0",
        "t-0x1",
        "t 0-1.a b-delete",
        ".-delete",
        "-future",
        "a-b.c.d-delete",
    ],
)
def test_directories_on_which_the_broker_dies(name: str) -> None:
    assert parse_dir_name(name) == DirName(name, "foreign")


ZERO = "0" * 20


@pytest.mark.parametrize(
    ("name", "found"),
    [
        (f"{ZERO}.log", ("log", "live", 0, True)),
        ("00000000000000000688.index", ("index", "live", 688, True)),
        ("00000000000000000688.timeindex", ("timeindex", "live", 688, True)),
        ("00000000000000000688.txnindex", ("txnindex", "live", 688, True)),
        ("00000000000000000688.snapshot", ("snapshot", "live", 688, True)),
        ("09223372036854775807.log", ("log", "live", 2**63 - 1, True)),
        ("688.log", ("log", "live", 688, False)),
        ("+688.log", ("log", "live", 688, False)),
        ("-1.log", ("log", "live", -1, False)),
        ("0000000000000000000688.log", ("log", "live", 688, False)),
        (f"{ZERO}.copy.log", ("log", "live", 0, False)),
        (f"{ZERO}.log.deleted", ("log", "deleted", 0, True)),
        (f"{ZERO}.index.deleted", ("index", "deleted", 0, True)),
        (f"{ZERO}.snapshot.deleted", ("snapshot", "deleted", 0, True)),
        (f"{ZERO}.log.cleaned", ("log", "cleaned", 0, True)),
        (f"{ZERO}.timeindex.swap", ("timeindex", "swap", 0, True)),
        ("5.log.swap", ("log", "swap", 5, False)),
        ("leader-epoch-checkpoint", ("leader-epochs", "live", None, True)),
        ("leader-epoch-checkpoint.tmp", ("leader-epochs", "tmp", None, True)),
        ("partition.metadata", ("partition-metadata", "live", None, True)),
        ("quorum-state", ("quorum-state", "live", None, True)),
        (f"{ZERO}-0000000007.checkpoint", ("kraft-snapshot", "live", 0, True)),
        (f"{ZERO}-0000000007-123.checkpoint.part", ("kraft-snapshot", "part", 0, True)),
        (f"{ZERO}-0000000007.checkpoint.deleted", ("kraft-snapshot", "deleted", 0, True)),
        ("notes.txt", ("other", "live", None, True)),
        ("core.123", ("other", "live", None, True)),
        ("log", ("other", "live", None, True)),
        ("", ("other", "live", None, True)),
        ("foo.log.deleted", ("other", "deleted", None, True)),
        ("12.foo.cleaned", ("other", "cleaned", None, True)),
        ("x.tmp", ("other", "tmp", None, True)),
        ("bootstrap.checkpoint", ("other", "live", None, True)),
    ],
)
def test_files_the_broker_reads_or_ignores(name: str, found: tuple[object, ...]) -> None:
    assert parse_file_name(name)[1:5] == found


@pytest.mark.parametrize(
    "name",
    [
        "foo.log",
        ".log",
        "foo.snapshot",
        "x.cleaned",
        "x.swap",
        "a.index",
        "99999999999999999999.log",
        " 1.log",
        "1_0.timeindex",
        "²0000000000000000000.log",
        "0000000000000000000².log",
    ],
)
def test_files_on_which_the_broker_dies(name: str) -> None:
    assert parse_file_name(name).kind == "unparsable"


def test_the_epoch_of_a_kraft_snapshot() -> None:
    assert parse_file_name(f"{ZERO}-0000000007.checkpoint") == FileName(
        f"{ZERO}-0000000007.checkpoint", "kraft-snapshot", "live", 0, True, 7
    )


@given(
    st.integers(-(2**63), 2**63 - 1), st.sampled_from(["log", "index", "timeindex", "txnindex", "snapshot"])
)
@examples(50)
def test_what_the_broker_writes_is_read_back(offset: int, kind: str) -> None:
    name = f"{file_prefix(offset)}.{kind}"
    assert parse_file_name(name) == FileName(name, kind, "live", offset)  # type: ignore[arg-type]


@given(st.text(max_size=40) | st.from_regex(r"[\w.+-]{0,30}(\.log|-delete|\.swap|\.checkpoint|\.part)?"))
@examples(200)
def test_any_text_is_some_name(name: str) -> None:
    assert parse_dir_name(name).name == name
    assert parse_file_name(name).name == name


def test_a_hundred_thousand_names_are_cheap() -> None:
    names = [f"{file_prefix(offset)}.index" for offset in range(100_000)]
    started = time.process_time()
    for name in names:
        parse_file_name(name)
    assert time.process_time() - started < 1.0
