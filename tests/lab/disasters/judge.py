"""One start of a real broker over a hurt node: what it did, as a value that is recorded."""

import re
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.lab.base import STORY
from tests.lab.broker import Broker, Seat
from tests.lab.disasters import protocol
from tests.lab.disasters.bases import STILL, TOPICS
from tests.lab.disasters.committed import read_committed
from tests.lab.disasters.files import Tree, changes, look
from tests.lab.disasters.reads import read_all
from tests.lab.disasters.scene import Scene, listed
from tests.lab.errors import LabError
from tests.lab.jars import cache_dir
from tests.lab.places.record import UserBroker
from tests.lab.ports import wait_until_free
from tests.lab.process import SMALL_JVM, stamp
from tests.lab.releases import release
from tests.lab.trial import fatal_of, offline_dirs, shortened
from tests.lab.zookeeper import ZooKeeper

FIRST_TASKS = 30
"""Seconds after which what periodically is done to logs begins; only from 3.8 on it is told to wait."""
SETTLED, AT_MOST = 4.0, 15.0
NO_VERDICT = {
    "NodeExists": "ZooKeeper still waits for the broker that was killed",
    "Address already in use|SocketServer Acceptors": "another broker has its port",
    "ZooKeeperClientTimeout": "ZooKeeper does not come up over the files of another release",
    "SessionExpired": "too slow to judge: ZooKeeper gave the broker up",
}
"""Ends that say nothing of the log dirs."""
QUIET = {**STILL, "replica.high.watermark.checkpoint.interval.ms": "3600000"}


OPEN_TO_ALL = Path("/tmp/segmend-places")
"""Where jars and classes lie that any user may read."""


class Judge(UserBroker):
    """A broker over the dirs of a scene, of any release: its quorum is as the writer's was."""

    def __init__(self, version: str, scene: Scene, uid: int | None = None) -> None:
        self.writer = release(scene.node.version)
        dirs = [path for path in scene.dirs if path.name not in scene.dropped]
        dirs = dirs[:: -1 if scene.reordered_mark.exists() else 1]
        settings = {**QUIET, "log.dirs": ",".join(map(str, dirs)), **scene.settings}
        super().__init__(
            release(version),
            scene.root / "b1",
            Seat(1, *scene.node.ports),
            settings=settings,
            zookeeper=ZooKeeper.wanted(release(version), scene.root),
        )
        if self.own_zookeeper:
            self.own_zookeeper.jvm = [*SMALL_JVM, *shared_classes(version)]
        self.uid, self.home = uid or None, OPEN_TO_ALL
        self.jvm = [*SMALL_JVM, *shared_classes(version, uid)]

    @property
    def dynamic_quorum(self) -> bool:
        """The writer's way, where this release knows it."""
        return self.writer.number >= (4, 0) and self.release.number >= (3, 9)


def archive(version: str, uid: int | None) -> Path:
    """Where the loaded classes of a release are kept, for root or for all."""
    return OPEN_TO_ALL / f"{version}.jsa" if uid else cache_dir() / "lab" / version / "classes.jsa"


def shared_classes(version: str, uid: int | None = None) -> list[str]:
    """Let the JVM map classes that were loaded before: it starts in half the time."""
    path = archive(version, uid)
    return [f"-XX:SharedArchiveFile={path}", "-Xshare:auto"] if path.exists() else []


def judged(version: str, scene: Scene, uid: int | None = None) -> dict[str, Any]:
    """Start the broker, look at it, kill it; `order` is how its log dirs are listed."""
    before, order = look(scene.root), listed(scene)
    wait_until_free(scene.node.ports)
    with Judge(version, scene, uid) as broker:
        broker.write_config()
        broker.launch()
        return {**seen(broker, scene, before), "order": order}


def seen(broker: Broker, scene: Scene, before: Tree) -> dict[str, Any]:
    """What the start came to."""
    child = broker.child
    assert child is not None
    outcome = broker.came_to("hangs")
    found: dict[str, Any] = {"outcome": outcome}
    if outcome == "starts":
        found |= served(broker)
        if not broker.running:
            found = {"outcome": "dies"}
    after, lines = look(scene.root), shortened(broker.lines(), scene.root)
    if found["outcome"] in ("refuses", "dies"):
        found |= {"exit": ended(child), "fatal": trimmed(fatal_of(lines)), "files": changes(before, after)}
        for words, says in NO_VERDICT.items():
            if re.search(words, found["fatal"]):
                raise LabError(says)
    if found["outcome"] == "hangs":
        found["fatal"] = last_error(lines)
    if gone := offline_dirs(lines):
        found["offline"] = gone
    if found["outcome"] == "starts":
        found["files"] = changes(before, after)
        found |= read_of(broker, scene, found)
    return found


def read_of(broker: Broker, scene: Scene, found: dict[str, Any]) -> dict[str, Any]:
    """What a consumer gets, and the dirs that go offline by it."""
    names = {f"{topic}-0" for topic in (STORY, *TOPICS)}
    offsets = {name: ends for name, ends in found["offsets"].items() if name in names}
    reads: dict[str, Any] = {"reads": read_all(broker.seat.port, offsets)}
    reads["committed"] = read_committed(broker.seat.port, offsets)
    later = sorted({*offline_dirs(shortened(broker.lines(), scene.root))} - {*found.get("offline", ())})
    if broker.release.number < (3, 8) and tasks_began(broker.lines(), time.time()):
        raise LabError("too slow to judge: what is done to logs 30 s after they are loaded has begun")
    if not broker.running:
        reads["exit_later"] = ended(broker.child) if broker.child else None
    return {**reads, "offline_later": later} if later else reads


def ended(child: subprocess.Popen[bytes]) -> int | None:
    """The exit code."""
    try:
        return child.wait(10)
    except subprocess.TimeoutExpired:
        return None


def tasks_began(lines: list[str], now: float) -> bool:
    """Whether retention and checkpoints may have changed the files."""
    return any("Starting log cleanup with" in line and now - stamp(line) >= FIRST_TASKS for line in lines)


def served(broker: Broker) -> dict[str, Any]:
    """Leaders and offsets of all partitions, once they no longer change."""
    begun = changed = time.monotonic()
    last: dict[str, Any] = {}
    while broker.running:
        now = asked(broker.seat.port)
        if now != last:
            last, changed = now, time.monotonic()
        quiet, all_led = time.monotonic() - changed, bool(last["offsets"]) and not last["unled"]
        if quiet > (0.4 if all_led else SETTLED) or time.monotonic() - begun > AT_MOST:
            break
        time.sleep(0.2)
    return last


def asked(port: int) -> dict[str, Any]:
    """`offsets` of what is led and answers, `unled` of the rest: what metadata says, and the error."""
    try:
        known = protocol.metadata(port)
        led = sorted(name for name, each in known.items() if each.leader >= 0)
        first, ends = protocol.offsets(port, led, -2), protocol.offsets(port, led, -1)
    except (OSError, ValueError, LookupError) as error:
        return {"offsets": {}, "unled": {"": str(type(error).__name__)}}
    good = {name: [first[name][1], ends[name][1]] for name in led if first[name][0] == 0 == ends[name][0]}
    errors = {name: [first[name][0], ends[name][0]] for name in led if name not in good}
    return {
        "offsets": good,
        "unled": {
            name: [*each.to_json(), *errors.get(name, [])] for name, each in known.items() if name not in good
        },
    }


def last_error(lines: list[str]) -> str:
    """The last error that it logged."""
    return trimmed(
        next((line for line in reversed(lines) if re.match(r"ERROR|FATAL", line)), "it says nothing")
    )


def trimmed(line: str) -> str:
    """A line without what differs from start to start."""
    return re.sub(r"\b[0-9a-f]{32}\b", "HEX", line)[:240]


def make_shared_classes(version: str, scene: Scene, uid: int | None = None) -> None:
    """Start and stop once, keeping the loaded classes for the next starts."""
    path = archive(version, uid)
    if path.exists():
        return
    OPEN_TO_ALL.mkdir(exist_ok=True)
    OPEN_TO_ALL.chmod(0o1777)  # the JVM writes it as its user
    part = Path(f"{path}.part")
    with Judge(version, scene, uid) as broker:
        broker.jvm = [*SMALL_JVM, f"-XX:ArchiveClassesAtExit={part}"]
        broker.write_config()
        broker.launch()
        broker.wait_ready()
        time.sleep(2)
        broker.stop()
    if part.exists():
        part.rename(path)
