"""A broker starts over directories that are formatted as Kafka's tool formatted another's."""

from pathlib import Path

import pytest

from segmend.logdir.log_dir import LogDir
from tests.cli.run import run
from tests.lab import broker as lab
from tests.lab.admin import wait_until_known
from tests.lab.cluster import Cluster
from tests.real.conftest import need_kafka

pytestmark = pytest.mark.broker


@pytest.mark.parametrize(("version", "brokers"), [("4.3.1", 1), ("3.9.2", 3)])
def test_the_second_broker_needs_no_tool(
    version: str, brokers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    need_kafka(version)
    with Cluster(version, tmp_path / "first", log_dirs=2) as first:
        first.brokers[0].configure()
    if brokers > 1:
        with Cluster(version, tmp_path / "several", brokers) as first:
            first.brokers[0].configure()
    monkeypatch.delattr(lab, "run_tool")
    with Cluster(version, tmp_path / "second", brokers) as second:
        second.start()
        told = wait_until_known(second.bootstrap, brokers)
        assert (told.cluster_id, len(told.nodes)) == (second.brokers[0].cluster_id, brokers)
        second.stop()
    for each in second.brokers:
        assert run("check", *each.dirs, "--deep").code == 0
        for path, other in zip(each.dirs, first.brokers[0].dirs, strict=True):
            mine, theirs = (LogDir.open(str(home)).meta_properties.value for home in (path, other))
            assert mine is not None
            assert theirs is not None
            assert (mine.node_id, mine.cluster_id) == (each.seat.node_id, each.cluster_id)
            assert mine.directory_id not in (None, theirs.directory_id)


def test_what_lay_there_before_is_not_taken_for_the_tools(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A log of a GiB was remembered, and written anew, batch by batch, for the next broker."""
    need_kafka("4.3.1")
    formatted: dict[object, object] = {}
    monkeypatch.setattr(lab, "_formatted", formatted)
    for number, name in enumerate(("first", "second")):
        (broker,) = Cluster("4.3.1", tmp_path / name).brokers
        if not number:
            (broker.dirs[0] / "orders-0").mkdir(parents=True)
            (broker.dirs[0] / "orders-0" / f"{0:020}.log").write_bytes(b"a log")
        broker.configure()
        assert len(formatted) == number
