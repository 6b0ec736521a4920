"""What befalls a node: each act does its part to a story, or raises one of `CANNOT` and is left out."""

import os
import random
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from confluent_kafka import KafkaException, Producer

from tests.copies import copy_tree
from tests.golden.acts import delete_head, delete_topic, transactional
from tests.golden.produce import producer, send
from tests.golden.records import events
from tests.golden.topics import Topic, create, small_segments
from tests.lab.disasters import protocol
from tests.lab.disasters.bases import TOPICS
from tests.lab.disasters.judge import Judge
from tests.lab.disasters.scene import Scene
from tests.lab.errors import LabError
from tests.lab.incidents.draw import DIRS, KILL, MADE, START, STOP, named
from tests.lab.process import run_tool

CANNOT = (OSError, LookupError, ValueError, RuntimeError, KafkaException, LabError)
LIVELY = {
    "replica.high.watermark.checkpoint.interval.ms": "1000",
    "log.flush.offset.checkpoint.interval.ms": "1000",
}
"""Unlike a broker that judges: checkpoints are written while it runs."""


@dataclass
class Story:
    """A node and what has become of it; `ends` are the log ends that clients last saw."""

    scene: Scene
    version: str
    uid: int | None
    broker: Judge | None = None
    ends: dict[str, int] = field(default_factory=dict)
    open: list[Producer] = field(default_factory=list)

    @property
    def running(self) -> Judge:
        """The broker that runs; raises LookupError if none does."""
        if self.broker is None or not self.broker.running:
            raise LookupError("it does not run")
        return self.broker

    def place(self, kind: str, name: str) -> Path:
        """Where a dir lies that is copied or taken away."""
        return self.scene.root / kind / name

    def owned(self, path: Path) -> None:
        """Give it all to the broker's user."""
        for each in (path, *path.rglob("*")) if self.uid else ():
            os.chown(each, self.uid or 0, self.uid or 0, follow_symlinks=False)

    def end(self) -> None:
        """Nothing runs any more."""
        if self.broker is not None:
            self.broker.__exit__()
            self.broker = None
        self.open.clear()


Act = Callable[[Story, str, random.Random], object]


def start(story: Story, _target: str, _draw: random.Random) -> None:
    """It comes up, or it does not."""
    if story.broker is not None:
        raise LookupError("it runs")
    broker = Judge(story.version, story.scene, story.uid)
    broker.settings |= LIVELY
    broker.__enter__()
    story.broker = broker
    broker.write_config()
    broker.launch()
    try:
        broker.wait_ready(90)
    except LabError:
        story.end()
        raise
    note(story)


def note(story: Story) -> None:
    """What clients see of the log ends."""
    port = story.running.seat.port
    told = protocol.metadata(port)
    led = [name for name, one in told.items() if one.leader >= 0 and not name.startswith("__")]
    ends = protocol.offsets(port, led, -1) if led else {}
    story.ends |= {name: end for name, (error, end) in ends.items() if error == 0}


def stop(story: Story, _target: str, _draw: random.Random) -> None:
    """SIGTERM."""
    note(story)
    story.running.stop(180)
    story.end()


def kill(story: Story, _target: str, _draw: random.Random) -> None:
    """kill -9."""
    note(story)
    broker = story.running
    broker.kill()
    if broker.own_zookeeper:
        broker.own_zookeeper.until_forgotten()
    story.end()


def write(story: Story, _target: str, draw: random.Random) -> None:
    """Batches into some topics, what is refused is none."""
    client = producer(story.running.bootstrap, enable_idempotence=True, message_timeout_ms="8000")
    for topic in draw.sample(TOPICS, 3):
        send(client, topic, events("more", draw.choice((1, 4, 12)), 5, first=draw.randrange(1000)))


def transactions(story: Story, target: str, draw: random.Random) -> None:
    """One committed, one aborted, one left open."""
    both = transactional(story.running.bootstrap, f"story-{draw.randrange(3)}")
    for end in draw.sample((both.commit_transaction, both.abort_transaction, None), 3):
        both.begin_transaction()
        send(both, target, events("txn", 1, 3, first=draw.randrange(1000)))
        if end is None:
            story.open.append(both)
            return
        end(30)


def trim(story: Story, target: str, draw: random.Random) -> None:
    """DeleteRecords."""
    note(story)
    delete_head(story.running.bootstrap, target, draw.randrange(story.ends[f"{target}-0"] + 1))


def make_topic(story: Story, _target: str, draw: random.Random) -> None:
    """A new topic with some batches."""
    broker, name = story.running, MADE.format(draw.randrange(3))
    create(broker.bootstrap, [Topic(name, small_segments(broker.release))])
    send(producer(broker.bootstrap), name, events(name, 5, 5))


def delete(story: Story, target: str, _draw: random.Random) -> None:
    """The topic is deleted, and nobody misses what it had."""
    delete_topic(story.running.bootstrap, target)
    story.ends.pop(f"{target}-0", None)


def wait(_story: Story, _target: str, draw: random.Random) -> None:
    """Until checkpoints are written."""
    time.sleep(draw.choice((1, 3)))


def copy(story: Story, target: str, _draw: random.Random) -> None:
    """A copy with times and owners."""
    duplicate(story, target, "-a")


def copy_bare(story: Story, target: str, _draw: random.Random) -> None:
    """`cp -r` by root: without times and owners."""
    duplicate(story, target, "-r")


def duplicate(story: Story, target: str, how: str) -> None:
    """`cp`, which goes on where a running broker takes a file away."""
    mine, there = story.scene.log_dir(target), story.place("copies", target)
    mine.stat()
    shutil.rmtree(there, ignore_errors=True)
    there.parent.mkdir(exist_ok=True)
    subprocess.run(["cp", how, "--sparse=always", mine, there], check=False, stderr=subprocess.PIPE)


def restore(story: Story, target: str, _draw: random.Random) -> None:
    """The copy in the place of the dir."""
    there = story.place("copies", target)
    there.stat()
    copy_tree(there, story.scene.log_dir(target))


def restore_over(story: Story, target: str, draw: random.Random) -> None:
    """The copy over the dir, what is newer stays; perhaps its user owns it then."""
    there, mine = story.place("copies", target), story.scene.log_dir(target)
    there.stat()
    mine.stat()
    flags = draw.choice((["-a"], ["-r"]))
    subprocess.run(["cp", *flags, f"{there}/.", mine], check=True, stderr=subprocess.PIPE)
    if draw.random() < 0.5:
        story.owned(mine)


def restore_topic(story: Story, target: str, draw: random.Random) -> None:
    """One partition out of the copies, into its dir or into the other one."""
    copies = (story.place("copies", name) / f"{target}-0" for name in DIRS)
    there = next((path for path in copies if path.is_dir()), None)
    if there is None:
        raise LookupError(target)
    mine = story.scene.log_dir(there.parent.name if draw.random() < 0.7 else draw.choice(DIRS))
    mine.stat()
    copy_tree(there, mine / there.name)
    if draw.random() < 0.5:
        story.owned(mine / there.name)


def away(story: Story, target: str, _draw: random.Random) -> None:
    """The disk is not there."""
    there = story.place("away", target)
    there.parent.mkdir(exist_ok=True)
    if there.exists():
        raise LookupError("it is away")
    story.scene.log_dir(target).rename(there)


def back(story: Story, target: str, _draw: random.Random) -> None:
    """The disk is there again, whatever was made in its place."""
    there, mine = story.place("away", target), story.scene.log_dir(target)
    there.stat()
    shutil.rmtree(mine, ignore_errors=True)
    there.rename(mine)
    if target in story.scene.dropped:
        story.scene.dropped_list.unlink()


def empty(story: Story, target: str, _draw: random.Random) -> None:
    """The disk is not there, the directory is: a mount that is missing."""
    away(story, target, _draw)
    mine = story.scene.log_dir(target)
    mine.mkdir()
    story.owned(mine)


def dropped(story: Story, target: str, draw: random.Random) -> None:
    """The disk is not there, and server.properties names it no more."""
    scene = story.scene
    if scene.dropped:
        raise LookupError("no dir would be left")
    away(story, target, draw)
    scene.dropped_list.write_text(target)


def make_anew(story: Story, target: str, draw: random.Random) -> None:
    """A new disk in the place of the dir, formatted by Kafka's tool where brokers ask for that."""
    empty(story, target, draw)
    broker = Judge(story.version, story.scene, story.uid)
    if broker.release.mode == "zookeeper":
        return
    stored = (path / "meta.properties" for path in (*story.scene.dirs, story.place("away", target)))
    lines = next(path for path in stored if path.exists()).read_text().splitlines()
    (cluster,) = (line.partition("=")[2] for line in lines if line.startswith("cluster.id="))
    broker.write_config()
    extra = ["--standalone"] if broker.dynamic_quorum else []
    arguments = ["format", "--ignore-formatted", "-t", cluster, "-c", str(broker.config), *extra]
    run_tool(broker.release, broker.root, "kafka.tools.StorageTool", *arguments)
    story.owned(story.scene.log_dir(target))


def own_dir(story: Story, target: str, draw: random.Random) -> None:
    """`chown root` of a log dir, perhaps of all in it."""
    mine = story.scene.log_dir(target)
    for path in (mine, *(mine.rglob("*") if draw.random() < 0.5 else ())):
        os.chown(path, 0, 0, follow_symlinks=False)


def own_topic(story: Story, target: str, draw: random.Random) -> None:
    """`chown -R root` of a partition, or of one file."""
    mine = story.scene.partition(target)
    found = sorted(mine.iterdir())
    for path in (mine, *found) if draw.random() < 0.5 else [draw.choice(found)]:
        os.chown(path, 0, 0)


def gone(story: Story, target: str, _draw: random.Random) -> None:
    """`rm -rf` of a partition."""
    shutil.rmtree(story.scene.partition(target))


def twice(story: Story, target: str, _draw: random.Random) -> None:
    """A partition copied beside itself into the other dir."""
    mine = story.scene.partition(target)
    other = next(name for name in DIRS if name != mine.parent.name)
    story.scene.log_dir(other).stat()
    copy_tree(mine, story.scene.log_dir(other) / mine.name)


ACTS: dict[str, Act] = {
    START: start, STOP: stop, KILL: kill, "write": write, "transactions": transactions, "trim": trim,
    "create": make_topic, "delete": delete, "wait": wait, "copy": copy, "copy-bare": copy_bare,
    "restore": restore, "restore-over": restore_over, "restore-topic": restore_topic, "away": away,
    "back": back, "empty": empty, "dropped": dropped, "anew": make_anew, "own-dir": own_dir,
    "own-topic": own_topic, "gone": gone, "twice": twice,
}  # fmt: skip


def act(story: Story, words: str) -> bool:
    """Do one; False where it cannot be done."""
    name, target = named(words)
    try:
        ACTS[name](story, target, random.Random(words))
    except CANNOT:
        return False
    return True
