"""A real broker appends behind a trimmed log in a new file, and is killed: an undo would cost what it took.

With the torn end back in front of that file, 4.3.1 cut it off again when it started, and deleted the new one:
100 acknowledged records were gone, after an undo that had said "taken back".
"""

import time
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.faults.on_disk import lengthen
from tests.golden.produce import producer, send
from tests.golden.records import Batch, Rec
from tests.golden.topics import Topic, create
from tests.lab.cluster import Cluster
from tests.lab.reader import read

pytestmark = [pytest.mark.broker, pytest.mark.slow]


def batches(count: int, first_time: float) -> list[Batch]:
    return [[Rec(b"key", b"value of %d" % each, int(first_time * 1000) + each)] for each in range(count)]


def test_no_undo_puts_the_old_end_of_a_log_before_what_came_since(tmp_path: Path) -> None:
    with Cluster("4.3.1", tmp_path / "live", settings={"log.retention.ms": "-1"}) as cluster:
        cluster.start()
        create(cluster.bootstrap, [Topic("old", {"retention.ms": "-1"})])
        send(producer(cluster.bootstrap), "old", batches(100, time.time() - 30 * 86400))
        cluster.kill()
        dirs = cluster.brokers[0].dirs
        home = next(each / "old-0" for each in dirs if (each / "old-0").is_dir())
        log = max(home.glob("*.log"))
        lengthen(log, log.read_bytes()[:50])
        run("plan", "trim", *dirs, "-o", tmp_path / "plan.json", code=0)
        run("apply", tmp_path / "plan.json", "--yes", "--state-dir", tmp_path / "state", code=1)
        cluster.start()
        send(producer(cluster.bootstrap), "old", batches(100, time.time()))
        cluster.kill()
        new = max(home.glob("*.log"))
        assert new != log
        ran = run("undo", "--yes", "--state-dir", tmp_path / "state", code=8)
        assert f"{new}: was made since" in ran.err
        ran = run("plan", "reverse", "--state-dir", tmp_path / "state", "-o", tmp_path / "back.json", code=4)
        assert "nothing to do" in ran.out
        cluster.start()
        assert len(read(cluster.bootstrap, ["old"])["old"]["seen"]) == 200
