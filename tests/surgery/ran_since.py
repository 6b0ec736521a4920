"""A broker at work between a plan and its way back: `python -m tests.surgery.ran_since [--seed N] [4.3.1]`.

A broker has topics that are kept, compacted, or cut by retention. One or two plans are drawn and applied, as
by `strangers`, and trims, repairs and adoptions too; then the broker runs, and of what happens to it some is
drawn: records in small or new segments, of today or long ago, in transactions, compaction, retention, records
deleted, a topic deleted or made anew; it is stopped or killed. Each plan is taken back by `undo`, or by what
that names, and the broker starts again. All that a consumer got at last it gets once more: what was
acknowledged, up to its end, but for what the same policies took since, and what a plan said that it costs.
"""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from tests.cli.run import run
from tests.faults.on_disk import flip_at_share
from tests.golden.observe import consume
from tests.golden.produce import producer, send
from tests.golden.records import Batch, Rec
from tests.golden.topics import Topic, create, small_segments
from tests.lab.admin import admin
from tests.lab.cluster import Cluster
from tests.lab.reader import consumer, led
from tests.removal import remove
from tests.surgery.recovery_rule import batches_of
from tests.surgery.shows.leftovers import forget
from tests.surgery.strangers import NAMED, OFFSETS, TOPICS, Bench, Trial, commit
from tests.surgery.trials import each_of, main, nobody_else

RELEASES = ("4.3.1", "3.9.2", "2.8.2", "1.1.0")
SETTINGS = {
    "offsets.topic.num.partitions": "1", "log.retention.ms": "-1", "log.cleaner.backoff.ms": "300",
    "log.retention.check.interval.ms": "1000", "log.segment.delete.delay.ms": "1000",
    "log.initial.task.delay.ms": "500", "zookeeper.session.timeout.ms": "4000",
}  # fmt: skip
COMPACTED = "green"
Rows = dict[str, list[tuple[int, str, str]]]


@dataclass
class BusyBench(Bench):
    """The same broker, with a compacted topic, and records under few keys; topics that are `gone` by now."""

    gone: set[str] = field(default_factory=set)

    @classmethod
    def made(cls, version: str, root: Path) -> BusyBench:
        bench = cls(Cluster(version, root / "live", settings=SETTINGS), root / "kept")
        cluster = bench.cluster
        cluster.start()
        bench.create(name for each in TOPICS for name in (each, f"new-{each}"))
        client = producer(cluster.bootstrap)
        for name in TOPICS:
            send(client, name, batches(f"first {name}", 40, 6, time.time() - 86400))
        commit(cluster.bootstrap)
        bench.seen = bench.read([*TOPICS, *(f"new-{name}" for name in TOPICS), OFFSETS])
        cluster.stop()
        shutil.copytree(root / "live", bench.kept, symlinks=True)
        return bench

    def create(self, names: Iterable[str]) -> None:
        small = small_segments(self.cluster.release, 2048)
        compact = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
        policies = {name: compact if name == COMPACTED else {} for name in names}
        create(self.cluster.bootstrap, [Topic(name, small | policy) for name, policy in policies.items()])

    def rows(self) -> Rows:
        """What a consumer gets of each topic that there is: offsets, keys and values."""
        there = [name for each in TOPICS for name in (each, f"new-{each}") if name not in self.gone]
        names = led(self.cluster.bootstrap, there, 60)
        client = consumer(self.cluster.bootstrap, "read_uncommitted")
        try:
            found = consume(client, [TopicPartition(name, 0) for name in names])
        finally:
            client.close()
        rows = {name: found.get(f"{name}-0", []) for name in names}
        return {
            n: [(r["offset"], r["key"] or "", r["value"] or "") for r in each] for n, each in rows.items()
        }


def batches(salt: str, count: int, size: int, at: float) -> list[Batch]:
    draw, first = Random(salt), int(at * 1000)

    def record(number: int) -> Rec:
        return Rec(b"k%d" % draw.randrange(9), f"{salt} {number}".encode(), first + number)

    return [[record(n * size + m) for m in range(size)] for n in range(count)]


@dataclass
class Run(Trial):
    """`cut` are topics of which a policy, or somebody, takes the beginning."""

    cut: set[str] = field(default_factory=set)
    killed: bool = False

    def trimmed(self, name: str) -> list[object]:
        """A torn end, or a damaged batch near it with whole ones behind."""
        own = self.bench.home(f"{name}-0")[0] / f"{name}-0"
        logs = sorted(own.glob("*.log"))
        self.hurt = True
        self.back.pop(name, None)
        torn = self.draw.random() < 0.5
        if torn:
            with open(logs[-1], "ab") as file:
                donor = next(log for log in logs if log.stat().st_size)
                file.write(donor.read_bytes()[: batches_of(donor)[0].size * 2 // 3])
        else:
            logs = [log for log in logs if log.stat().st_size]
            flip_at_share(logs[-self.draw.choice([1, 2, 3][: len(logs)])], self.draw.uniform(0.1, 0.9))
        for each in self.bench.dirs:
            (each / ".kafka_cleanshutdown").unlink(missing_ok=True)
        return ["trim", own, *([] if torn else ["--accept-loss", "?"])]

    def repaired(self, name: str) -> list[object]:
        """One to three derived files that are gone, empty or flipped."""
        own = self.bench.home(f"{name}-0")[0] / f"{name}-0"
        kinds = (".index", ".timeindex", ".snapshot", "leader-epoch-checkpoint", "partition.metadata")
        small = kinds[3:]
        files = sorted(path for path in own.iterdir() if path.name.endswith(kinds) and path.stat().st_size)
        self.hurt = True
        for path in self.draw.sample(files, min(len(files), self.draw.choice([1, 2, 3]))):
            if path.name in small or self.draw.random() < 0.4:  # Over a damaged one no broker starts.
                path.unlink()
            else:
                flip_at_share(path, self.draw.uniform(0.05, 0.95))
        return ["repair", own]

    def mended(self, name: str) -> list[object]:
        """Batches out of another replica."""
        own, other = self.replica(name)
        self.hurt = True
        self.back.pop(name, None)
        logs = [log for log in sorted(own.glob("*.log")) if log.stat().st_size]
        for log in self.draw.sample(logs, self.draw.choice([1, 2])):
            flip_at_share(log, self.draw.uniform(0.1, 0.9))
        return ["repair", own, "--from", other / own.name]

    def blanked(self, name: str) -> list[object]:
        own = self.bench.home(f"{name}-0")[0] / f"{name}-0"
        self.hurt = True
        self.back.pop(name, None)
        logs = [log for log in sorted(own.glob("*.log"))[:-1] if log.stat().st_size]
        flip_at_share(self.draw.choice(logs), self.draw.uniform(0.1, 0.9))
        return ["repair", own, "--blank", "--accept-loss", "?"]

    def adopted(self, name: str) -> list[object]:
        """A replica that a start took for a stray one."""
        own = self.bench.home(f"{name}-0")[0] / f"{name}-0"
        stray = own.rename(own.with_name(f"{name}-0.{self.draw.getrandbits(128):032x}-stray"))
        forget(own.parent, name)
        self.hurt = True
        self.back.pop(name, None)
        return ["adopt", *self.bench.dirs, "--directory", stray.name]

    def metadata(self, name: str) -> list[object]:
        """No way back may bring the snapshot again with which no node starts."""
        back = dict(self.back)
        asked, self.back = super().metadata(name), back
        return asked

    def operations(self) -> list[list[object]]:
        ways: list[Callable[[str], list[object]]] = [
            self.renamed, self.moved, self.merged, self.deleted, self.grafted, self.freed, self.trimmed,
            self.trimmed, self.repaired, self.mended, self.blanked,
        ]  # fmt: skip
        if self.bench.cluster.release.number >= (3, 6, 1):  # Older ones end over the name of a stray one.
            ways.append(self.adopted)
        if self.bench.cluster.release.number >= (3, 0):
            ways += [self.restamped, self.metadata]
        return [
            self.draw.choice(ways)(name) for name in self.draw.sample(TOPICS, self.draw.choice([1, 2, 2]))
        ]

    def planned(self, asked: Sequence[object], number: int) -> Path | None:
        """With the loss accepted that it asks for."""
        file = self.folder / f"plan-{number}.json"
        words = [*asked]
        if "?" in words:
            ran = run("plan", *words[: words.index("--accept-loss")], "-o", file)
            named = [word for word in f"{ran.err} {ran.out}".split() if word.endswith("-records")]
            if not named:
                whole = file.exists() and not json.loads(file.read_bytes())["left"]
                return file if ran.code in (0, 4) and whole else None
            words[words.index("?")] = named[0]
        ran = run("plan", *words, "-o", file)
        self.said.append(f"{shlex.join(map(str, words))}: {ran.code} {ran.err.strip()[-300:]}")
        return file if ran.code in (0, 4) and file.exists() else None

    def happens(self, round_: str) -> None:
        """One to four things in a run of the broker."""
        there = [name for each in TOPICS for name in (each, f"new-{each}")]
        busy = [name for name in there if name in self.said[0]] or there
        ways = [self.written, self.written, self.written, self.of_old, self.transaction, self.compaction,
                self.retention, self.records_deleted, self.topic_deleted, self.topic_anew]  # fmt: skip
        for number in range(self.draw.choice([1, 2, 3, 4])):
            way, name = self.draw.choice(ways), self.draw.choice([*busy, *busy, *there])
            self.said.append(f"{way.__name__} {name}")
            try:
                way(name, f"{round_} {number}")
            except KafkaException as error:  # A topic that is gone by now.
                self.said.append(f"  {error}")

    def send(self, name: str, salt: str, count: int, size: int, at: float, **settings: object) -> None:
        if name not in self.bench.gone:
            send(producer(self.bootstrap, **settings), name, batches(salt, count, size, at))

    @property
    def bootstrap(self) -> str:
        return self.bench.cluster.bootstrap

    def written(self, name: str, salt: str) -> None:
        idempotent = {"enable_idempotence": True} if self.draw.random() < 0.5 else {}
        self.send(
            name, salt, self.draw.choice([1, 3, 30, 60]), self.draw.choice([1, 6]), time.time(), **idempotent
        )

    def of_old(self, name: str, salt: str) -> None:
        self.send(name, salt, self.draw.choice([1, 5]), 3, time.time() - 40 * 86400)

    def transaction(self, name: str, salt: str) -> None:
        if name in self.bench.gone:
            return
        client = producer(self.bootstrap, transactional_id=f"t-{salt}", transaction_timeout_ms=60000)
        client.init_transactions(60)
        client.begin_transaction()
        send(client, name, batches(salt, 5, 3, time.time()))
        self.draw.choice([client.commit_transaction, client.abort_transaction])(60)

    def compaction(self, name: str, salt: str) -> None:
        self.configure(name, {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"})
        self.cut.add(name)
        self.send(name, salt, 40, 6, time.time())
        time.sleep(4)

    def retention(self, name: str, salt: str) -> None:
        """All but the active segment, or nearly."""
        self.configure(name, {"cleanup.policy": "delete", "retention.bytes": "1"})
        self.cut.add(name)
        self.send(name, salt, self.draw.choice([1, 30]), 6, time.time())
        time.sleep(32 if self.bench.cluster.release.number < (3, 7) else 4)

    def configure(self, name: str, settings: dict[str, str]) -> None:
        client = admin(self.bootstrap)
        entries = [
            ConfigEntry(k, v, incremental_operation=AlterConfigOpType.SET) for k, v in settings.items()
        ]
        if self.bench.cluster.release.number >= (2, 3):
            resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries)
            client.incremental_alter_configs([resource])[resource].result(60)
        else:
            whole = {**small_segments(self.bench.cluster.release, 2048), **settings}
            resource = ConfigResource(ResourceType.TOPIC, name, set_config=whole)
            client.alter_configs([resource])[resource].result(60)

    def records_deleted(self, name: str, _salt: str) -> None:
        rows = self.bench.rows().get(name)
        if rows:
            upto = TopicPartition(name, 0, self.draw.choice([rows[-1][0] + 1, self.draw.choice(rows)[0]]))
            client = admin(self.bootstrap)
            client.delete_records([upto])[upto].result(60)
            self.cut.add(name)
            time.sleep(self.draw.choice([0, 4]))

    def topic_deleted(self, name: str, _salt: str) -> None:
        client = admin(self.bootstrap)
        client.delete_topics([name], operation_timeout=60)[name].result(90)
        self.bench.gone.add(name)
        time.sleep(self.draw.choice([0, 3]))

    def topic_anew(self, name: str, salt: str) -> None:
        if name not in self.bench.gone:
            self.topic_deleted(name, salt)
        time.sleep(2)
        self.bench.create([name])
        self.bench.gone.discard(name)
        self.written(name, salt)

    def play(self) -> str:
        self.said.append("")
        try:
            asked = self.operations()
        except IndexError:  # A drawn file is empty.
            return "nothing to hurt"
        files = [file for number, each in enumerate(asked) if (file := self.planned(each, number))]
        if len(files) < len(asked):
            return "refused"
        self.said[0] = "; ".join(shlex.join(map(str, each)) for each in asked)
        for file in files:
            ran = self.segmend("apply", file, "--yes")
            self.said.append(f"apply {file.name}: {ran.code} {ran.err.strip()[-300:]}")
            if ran.code == 8:  # Another plan was there first: it is made again.
                ran = self.segmend(
                    "apply", self.again(asked[files.index(file)], 5 + files.index(file)), "--yes"
                )
            assert ran.code in (0, 1, 4, 5), f"{ran.err}{self.told()}"
        self.bench.cluster.start()
        self.bench.rows()  # Until all have a leader.
        self.happens("run")
        before = self.bench.rows()
        self.ended()
        how = self.taken_back()
        if self.killed and self.bench.cluster.zookeeper:
            self.bench.cluster.zookeeper.until_forgotten()
        self.bench.cluster.start()
        self.compare(before, self.bench.rows())
        return how

    def ended(self) -> None:
        killed = self.draw.random() < 0.7
        self.said.append("killed" if killed else "stopped")
        if killed:
            time.sleep(self.draw.choice([0, 0, 6]))
            self.bench.cluster.brokers[0].kill()  # ZooKeeper is to see its session end.
            self.killed = True
        else:
            self.bench.cluster.stop()

    def taken_back(self) -> str:
        told = []
        for number, journal in enumerate(self.journals()):
            ran = self.segmend("undo", journal, "--yes")
            self.said.append(f"undo {journal}: {ran.code} {ran.err.strip()[-900:]}")
            if ran.code == 0:
                told.append("undone")
                continue
            named = NAMED.search(ran.err)
            assert ran.code == 8, self.told()
            if named is None:
                told.append("refused")
                continue
            file = self.folder / f"back-{number}.json"
            ran = run(*shlex.split(named[1]), "-o", file)
            self.said.append(f"{named[1]}: {ran.code} {ran.err.strip()[-900:]}{ran.out.strip()[-1500:]}")
            if ran.code == 16 and "nothing done that" in ran.err:
                continue
            assert ran.code in (0, 4), self.told()
            ran = self.segmend("apply", file, "--yes")
            self.said.append(f"apply {file.name}: {ran.code} {ran.err.strip()[-300:]}")
            assert ran.code in (0, 1, 4, 5), self.told()
            told.append("reversed" if ran.code in (1, 5) else "nothing to do")
        return ", ".join(sorted(told)) or "no plan"

    def compare(self, before: Rows, after: Rows) -> None:
        """What was read at last, and is not there any more."""
        back = {name[4:] for name in after if name.startswith("new-")} if "rename" in self.said[0] else set()
        wrong = []
        for name, rows in before.items():
            if name in back or (name.removeprefix("new-") in back and "rename" in self.said[0]):
                continue
            if f" {name}-0." in self.said[0] and "-stray: back to what it was" in self.told():
                assert "start after them" in self.told(), self.told()  # It said so: nobody serves it then.
                continue
            now = after.get(name, [])
            start = min((offset for offset, *_ in now), default=0)
            there = {offset: (key, value) for offset, key, value in now}
            kept = [row for row in rows if name not in self.cut or row[0] >= start]
            if name in self.cut or name == COMPACTED:
                kept = [*{key: (offset, key, value) for offset, key, value in kept}.values()]
            if name not in self.back and not name.startswith("new-"):  # What was damaged may be again.
                kept = [row for row in kept if bytes.fromhex(row[2]).startswith(b"run ")]
            missing = [row for row in kept if there.get(row[0]) != row[1:]]
            if missing:
                wrong.append(f"{name}: {len(missing)} of {len(rows)} gone, {missing[:2]}; now {now[-1:]}")
        assert not wrong, f"{wrong}{self.told()}"


def played(bench: BusyBench, seed: int, number: int, folder: Path) -> str:
    bench.put_back()
    bench.gone = set()
    draw = Random(f"{seed} {number} ran since")
    trial = Run(bench, draw, folder, dict(bench.seen), dict(bench.seen))
    try:
        return trial.play()
    except Exception as error:
        error.add_note(f"--seed {seed} --only {number} {bench.cluster.release.version}{trial.told()}")
        raise
    finally:
        bench.cluster.kill()


def play(numbers: Iterable[int], seed: int, of: Sequence[str], home: Path) -> Counter[str]:
    """Play them all, on each release."""
    told: Counter[str] = Counter()
    for version in of:
        place = Path(tempfile.mkdtemp(dir="/var/tmp"))
        try:
            bench = BusyBench.made(version, place)
            with bench.cluster, nobody_else():
                told.update(each_of(numbers, home, lambda n, folder, b=bench: [played(b, seed, n, folder)]))
        finally:
            remove(place)
    return told


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "tests.surgery.ran_since", RELEASES, play, count=6))
