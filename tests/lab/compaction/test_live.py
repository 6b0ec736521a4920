"""When a broker deletes in topics with compact and delete: with its cleaner, not after 30 seconds."""

import re
import time
from pathlib import Path

import pytest

from segmend.loading import ForecastOptions, Later, forecast
from segmend.logdir.config import ServerConfig
from tests.brokers import broker_of
from tests.golden.topics import Topic, create
from tests.lab.base import QUIET
from tests.lab.broker import Broker
from tests.lab.cluster import Cluster
from tests.lab.compaction.draw import DAY, DrawnBatch, DrawnLog, DrawnRecord, DrawnSegment
from tests.lab.compaction.run import fill
from tests.lab.process import stamp
from tests.waiting import until

BACKOFF = 5
SETTINGS = {**QUIET, "log.cleaner.backoff.ms": str(BACKOFF * 1000)}
BOTH = {"cleanup.policy": "compact,delete", "min.cleanable.dirty.ratio": "1.0"}
OLD = DrawnSegment((DrawnBatch((DrawnRecord(1, 10),), 9 * DAY),), 9 * DAY)
NEW = DrawnSegment((DrawnBatch((DrawnRecord(1, 10),), 1000),), 1000)
LOGS = [
    DrawnLog("c000", {**BOTH, "retention.ms": str(DAY)}, (OLD, OLD, NEW), ("none", 0)),
    DrawnLog("c001", {**BOTH, "retention.ms": "-1"}, (OLD, OLD, NEW), ("none", 0), ("base", 1)),
    DrawnLog("c002", {**BOTH, "retention.ms": "-1"}, (OLD, OLD, NEW), ("none", 0)),
]
DELETES = re.compile(r"partition=(c\d+)-0.*(?:Deleting segments? |Found deletable segments)")


def told(broker: Broker) -> dict[str | None, int | None]:
    """Seconds after the start, by topic."""
    version = broker.release.version
    dirs = broker_of(broker.dirs, version, ServerConfig.load(str(broker.config)))
    lines = forecast(dirs, ForecastOptions(now_ms=int(time.time() * 1000)))
    return {line.topic: line.seconds for line in lines if isinstance(line, Later)}


def measured(version: str, root: Path) -> tuple[dict[str | None, int | None], dict[str | None, float]]:
    """What is said and what is done, in seconds after the log cleaner was started."""
    with Cluster(version, root, log_dirs=1, settings=SETTINGS) as cluster:
        cluster.start()
        create(cluster.bootstrap, [Topic(each.name, dict(each.settings)) for each in LOGS])
        broker = cluster.brokers[0]
        broker.stop()
        fill(broker.dirs[0], LOGS, killed=False)
        said = told(broker)
        broker.start()
        time.sleep(BACKOFF + 4)
        # A loaded machine is no reason to miss one.
        all_of = lambda done: said.keys() <= done.keys()  # noqa: E731
        return said, until("what was said", lambda: deletions(broker), 60, all_of, every=1, strict=False)


def deletions(broker: Broker) -> dict[str | None, float]:
    """Seconds from the start of the log cleaner to the first deletion of each log."""
    lines = broker.lines()
    began = stamp(next(line for line in lines if "Starting the log cleaner" in line))
    found = [(match[1], stamp(line) - began) for line in lines if (match := DELETES.search(line))]
    return dict(reversed(found))


@pytest.mark.broker
def test_the_cleaner_deletes_when_it_is_said(tmp_path: Path) -> None:
    said, done = measured("4.3.1", tmp_path)
    assert said == {"c000": BACKOFF, "c001": BACKOFF}  # at the latest
    assert done.keys() == said.keys()
    for topic, seconds in done.items():
        assert seconds <= (said[topic] or 0) + 2
