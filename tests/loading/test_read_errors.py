"""A disk that gives an error where a start reads: which exception it is to the broker, and what that costs.

Played with a library that fails reads (EIO) of one file, on 1.1.0, 3.9.2 and 4.3.1 after a clean stop and a
kill: over a log or a transaction index that is read they refuse, over a producer snapshot they lose the dir,
and 4.3.1 has emptied the segment by then. What is not read does no harm.
"""

import errno
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.faults.written import two_dirs, unflushed_dirs, with_zookeeper

from segmend.loading import BrokerOutcome, ForecastOptions, PartitionOutcome, forecast
from segmend.logdir.user import User

Fail = Callable[[Path], None]


@pytest.fixture
def unreadable(monkeypatch: pytest.MonkeyPatch) -> Fail:
    """Let every read of a file fail; it can be opened."""
    real, bad = os.preadv, set[str]()

    def failing(fd: int, buffers: list[memoryview], *rest: int) -> int:
        if os.readlink(f"/proc/self/fd/{fd}") in bad:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return real(fd, buffers, *rest)

    monkeypatch.setattr(os, "preadv", failing)
    return lambda path: bad.add(str(path))


def said(
    dirs: list[Path], release: str, options: ForecastOptions | None = None
) -> tuple[BrokerOutcome, PartitionOutcome]:
    """Of the broker, and of `t-0`."""
    lines = [*forecast(broker_of(dirs, release), options or ForecastOptions())]
    (mine,) = [each for each in lines if isinstance(each, PartitionOutcome) and each.topic == "t"]
    assert isinstance(lines[-1], BrokerOutcome)
    return lines[-1], mine


@pytest.mark.parametrize(
    ("release", "suffix"),
    [("1.1", ".log"), ("3.9", ".log"), ("3.9", ".txnindex"), ("4.3", ".log"), ("4.3", ".txnindex")],
)
def test_over_what_is_read_as_batches_the_broker_refuses(
    release: str, suffix: str, tmp_path: Path, unreadable: Fail
) -> None:
    dirs = unflushed_dirs(tmp_path, clean=False)
    if release == "1.1":
        with_zookeeper(dirs)
    log = max((dirs[0] / "t-0").glob("*.log"))
    log.with_suffix(".txnindex").write_bytes(bytes(34))
    unreadable(log.with_suffix(suffix))
    broker, _ = said(dirs, release)
    assert not broker.starts
    assert broker.reason is not None
    assert broker.reason.startswith("KafkaException: ")
    assert "input/output error" in broker.reason


@pytest.mark.parametrize(("release", "lost"), [("3.9", False), ("4.3", True)])
def test_over_a_snapshot_a_segment_is_emptied_since_4_0(
    release: str, lost: bool, tmp_path: Path, unreadable: Fail
) -> None:
    dirs = two_dirs(tmp_path, clean=False)
    for each in (dirs[0] / "t-0").glob("*.snapshot"):
        unreadable(each)
    _, mine = said(dirs, release)
    emptied = [each for each in mine.effects if each.effect == "segment-emptied"]
    assert bool(emptied) == lost
    assert all(each.records_lost for each in emptied)
    assert mine.outcome == "offline"


@pytest.mark.parametrize(("release", "lost"), [("3.9", 0), ("4.0", 51)])
def test_over_a_partition_that_is_closed_a_segment_is_emptied_since_4_0(release: str, lost: int) -> None:
    """4.0.1 as another user, after a kill, over a directory of mode 0500: offline, and its first unflushed
    segment empty; what follows stays, since it cannot be renamed."""
    with tempfile.TemporaryDirectory() as root:
        dirs = two_dirs(Path(root), clean=False)
        for path in Path(root).rglob("*"):
            path.chmod(0o777 if path.is_dir() else 0o666)
        Path(root).chmod(0o755)
        (dirs[0] / "t-0").chmod(0o555)
        _, mine = said(dirs, release, ForecastOptions(user=User.of(12_345)))
        emptied = [each.records_lost for each in mine.effects if each.effect == "segment-emptied"]
        assert emptied == [lost] * bool(lost)
        assert mine.outcome == "offline"
        (dirs[0] / "t-0").chmod(0o755)


def test_what_is_not_read_does_no_harm(tmp_path: Path, unreadable: Fail) -> None:
    dirs = two_dirs(tmp_path)
    unreadable(min((dirs[0] / "t-0").glob("*.log")))
    broker, mine = said(dirs, "4.3")
    assert broker.starts
    assert mine.outcome == "served"
