"""The life of a golden broker, told once for every release from 0.10.2 on.

Filled, restarted (leader epochs move), filled again, stopped cleanly: the `clean` golden. Started
again with the default 10 MiB indexes, topics deleted, a replica half moved, a transaction left open,
then kill -9: the `killed` golden.
"""

import time
from pathlib import Path

from tests.golden import acts
from tests.golden.judge import ask, restart
from tests.golden.produce import one_by_one, producer, send, write
from tests.golden.records import customers, events, nulls, strange_times, with_headers
from tests.golden.store import Golden, keep
from tests.golden.topics import codecs, create, legacy, small_segments, topics
from tests.lab.cluster import Cluster
from tests.lab.releases import Release

QUICK = {
    "log.index.size.max.bytes": "65536",
    "log.cleaner.enable": "true",
    "log.cleaner.backoff.ms": "300",
    "log.segment.delete.delay.ms": "1000",
    "log.retention.check.interval.ms": "300000",
    "log.flush.offset.checkpoint.interval.ms": "2000",
    "log.flush.start.offset.checkpoint.interval.ms": "2000",
    "replica.high.watermark.checkpoint.interval.ms": "1000",
    "replica.fetch.max.bytes": "2048",
    "replica.fetch.response.max.bytes": "4096",
    "metadata.log.max.record.bytes.between.snapshots": "3000",
    "metadata.log.max.snapshot.interval.ms": "0",
    "zookeeper.session.timeout.ms": "4000",
    "transaction.remove.expired.transaction.cleanup.interval.ms": "3600000",
}
LATER = {"log.segment.delete.delay.ms": "3600000", "log.flush.offset.checkpoint.interval.ms": "5000"}
DEFAULT_INDEXES = ("1.1.0", "4.3.1")
"""Releases whose killed golden has indexes of the default size; 64 KiB is enough for the others."""


def fill_plain(bootstrap: str, release: Release, first: int) -> None:
    """Every codec from the client and from the broker, and the topics of odd records."""
    for codec in codecs(release):
        write(bootstrap, f"codec-{codec}", events(codec, 18, first=first), codec)
        if codec != "none":
            write(bootstrap, f"broker-{codec}", events(f"broker {codec}", 9, first=first))
    for partition in range(3):
        write(
            bootstrap, "orders.eu-west_1", events(f"orders {partition}", 8, 12, first=first), "lz4", partition
        )
    write(bootstrap, "nulls", nulls())
    write(bootstrap, "nulls", nulls(), "gzip")
    write(bootstrap, "appendtime", events("append", 6, first=first), "gzip")
    write(bootstrap, "appendtime", events("append", 6, first=first + 1000))
    write(bootstrap, "times", strange_times())
    write(bootstrap, "single", one_by_one(events("single", 8, first=first)))
    write(bootstrap, "doomed", events("doomed", 8, first=first))
    write(bootstrap, "compacted", customers(12), "gzip")
    write(bootstrap, "compacted", customers(3))
    write(bootstrap, "compacted", events("roll", 5))


def fill_new(bootstrap: str, release: Release, first: int) -> None:
    """What came with format 2: headers, idempotence, transactions, deleted heads."""
    write(bootstrap, "headers", with_headers())
    write(bootstrap, "headers", with_headers(), "snappy")
    send(producer(bootstrap, enable_idempotence=True), "idem", events("idem", 12, first=first))
    acts.transactions(bootstrap, "txn")
    acts.compacted_transactions(bootstrap, "compacted-txn")
    write(bootstrap, "trimmed", events("trimmed", 20, first=first))
    if release.number >= (1, 1):
        write(bootstrap, "moved", events("moved", 60, first=first))


def fill_legacy(bootstrap: str, release: Release, first: int) -> None:
    """Magic 0 and 1 with every codec of their time, and a topic whose format is raised while it is used."""
    for topic in legacy(release):
        if topic.name != "upgraded":
            codec = topic.name.partition("-")[2]
            write(bootstrap, topic.name, events(topic.name, 12, first=first), codec)
            write(bootstrap, topic.name, one_by_one(events(f"single {topic.name}", 1, first=first)), codec)
            write(bootstrap, topic.name, nulls(), codec)


def upgrade(bootstrap: str, release: Release) -> None:
    """Raise message.format.version step by step, writing in between."""
    steps = ["0.8.2", "0.10.0", "0.11.0"] if release.number < (2, 0) else ["0.10.2", "2.8"]
    for number, step in enumerate(steps):
        acts.change_format(bootstrap, "upgraded", {**small_segments(release), "message.format.version": step})
        for codec in ("none", "lz4", "gzip"):
            write(bootstrap, "upgraded", events(f"upgraded {step} {codec}", 3, first=number * 100), codec)


def wait_cleaned(cluster: Cluster) -> None:
    """Wait until the log cleaner has been over the compacted topic."""
    cluster.brokers[0].wait_for("cleaned log compacted-0", 60)


def first_life(cluster: Cluster) -> None:
    """Fill, restart, fill."""
    bootstrap, release = cluster.bootstrap, cluster.release
    create(bootstrap, topics(release))
    fill_plain(bootstrap, release, 0)
    fill_legacy(bootstrap, release, 0)
    modern = release.number >= (0, 11)
    if modern:
        fill_new(bootstrap, release, 0)
        acts.commit_group(bootstrap, "billing", ["orders.eu-west_1"])
    if any(topic.name == "upgraded" for topic in legacy(release)):
        upgrade(bootstrap, release)
    wait_cleaned(cluster)
    cluster.brokers[0].stop()
    cluster.start()
    fill_plain(bootstrap, release, 10_000)
    if modern:
        fill_new(bootstrap, release, 10_000)
        acts.delete_head(bootstrap, "trimmed", 100)
    acts.commit_group(bootstrap, "shipping", ["codec-none", "codec-gzip"])
    wait_cleaned(cluster)
    time.sleep(3)


def tell(version: str, work: Path) -> None:
    """Make both goldens of a release below `work`."""
    scratch = work / "scratch"
    scratch.mkdir(parents=True, exist_ok=True)
    with Cluster(version, work / "live", settings=QUICK) as cluster:
        cluster.start()
        broker, bootstrap = cluster.brokers[0], cluster.bootstrap
        modern = cluster.release.number >= (0, 11)
        first_life(cluster)
        pending = [acts.open_transaction(bootstrap, "txn-open", "never-ended")] if modern else []
        seen = ask(bootstrap, scratch)
        broker.stop()
        judgement = restart(cluster, scratch / "judge")
        keep(cluster, Golden("clean", "clean", seen, judgement), scratch)
        broker.settings |= LATER
        if version in DEFAULT_INDEXES:
            del broker.settings["log.index.size.max.bytes"]
        if cluster.zookeeper:  # the judged copy
            cluster.zookeeper.until_forgotten()
        cluster.start()
        write(bootstrap, "codec-none", events("last", 10, first=20_000))
        write(bootstrap, "compacted", customers(6))
        if modern:
            acts.delete_head(bootstrap, "trimmed", 150)
            acts.transactions(bootstrap, "txn")
            pending.append(acts.open_transaction(bootstrap, "txn-open", "cut-off"))
        wait_cleaned(cluster)
        acts.delete_topic(bootstrap, "doomed")
        if cluster.release.number >= (1, 1):
            acts.start_move(broker, "moved", broker.zookeeper)
        time.sleep(6)
        write(bootstrap, "codec-gzip", events("very last", 10, first=30_000), "gzip")
        seen = ask(bootstrap, scratch)
        write(bootstrap, "single", one_by_one(events("unflushed", 1, 5, first=40_000)))
        broker.kill()
        judgement = restart(cluster, scratch / "judge")
        keep(cluster, Golden("killed", "killed", seen, judgement), scratch)
        pending.clear()
