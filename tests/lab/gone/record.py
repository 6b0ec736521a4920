"""Record what brokers log of data they delete: `python -m tests.lab.gone.record 4.3.1`.

To be run as root: the broker runs as another user, as in write-up 002. Each topic goes for the reason that
its name tells; the last start finds a time index of root's. Kept are the lines that speak of it, and beside
them (`.json`) the segments that went at each start and what `explain retention` had said before it.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import KafkaException

from segmend.explain.record_times import doubt
from segmend.explain.retention import reasons
from segmend.loading import ForecastOptions
from segmend.loading.limits import TopicSettings
from segmend.logdir.config import ServerConfig
from segmend.logdir.user import User
from tests.brokers import broker_of
from tests.faults.on_disk import lengthen
from tests.golden.acts import delete_head, delete_topic
from tests.golden.produce import producer as producing
from tests.golden.produce import send
from tests.golden.records import events
from tests.golden.topics import Topic, create, small_segments
from tests.lab.errors import LabError
from tests.lab.places.record import UserBroker
from tests.lab.releases import Release, release
from tests.lab.trial import offline_dirs
from tests.lab.zookeeper import ZooKeeper
from tests.memory import MEMORY, prefix

HERE = Path(__file__).parent
UID = 12345
DAY = 86_400_000
FIRST_LOOK = 5_000
"""What is said is said for a moment after the start."""
FOREVER = "9223372036854775807"
SETTINGS = {
    "log.initial.task.delay.ms": "2000",
    "log.retention.check.interval.ms": "3000",
    "log.segment.delete.delay.ms": "1000",
    "log.retention.hours": "24",
    "log.roll.hours": "100000",
    "log.cleaner.backoff.ms": "3600000",
}
TELLS = re.compile(
    r"eletable segments|Deleting segments? (?!files)|cheduling (log segment|segments)|Deleted log for"
    r"|ncremented log start|ncrementing log start|is renamed to|marked as stray|Truncat|ermission"
    r"|AccessDenied|Error while|future timestamp"
)
TOPICS: dict[str, dict[str, str]] = {
    "aged": {"retention.ms": "5000"},
    "seconds": {},
    "microseconds": {},
    "zeros": {},
    "modified": {},
    "mounted": {},
    "sized": {"retention.ms": "-1", "retention.bytes": "1"},
    "trimmed": {"retention.ms": "-1"},
    "doomed": {"retention.ms": "-1"},
    "closed": {"retention.ms": "-1"},
}
STAMPS = {"seconds": 1e-3, "microseconds": 1e3}
"""What a producer makes of the milliseconds that it should send."""


def settings_of(kind: Release, name: str) -> dict[str, str]:
    """Small segments, and the server's retention unless the topic has its own."""
    found = {**small_segments(kind, 1024), **TOPICS[name]}
    if "retention.ms" not in TOPICS[name]:
        del found["retention.ms"]
    if kind.number >= (3, 6):
        found |= {"message.timestamp.after.max.ms": FOREVER, "message.timestamp.before.max.ms": FOREVER}
    return found


def fill(broker: UserBroker, names: Iterable[str] = TOPICS) -> None:
    """Some segments of each topic."""
    client = producing(broker.bootstrap)
    for name in names:
        for number in range(1 if name == "mounted" else 4):  # in front of it nothing may stay
            batches = events("t", 1, 8, first=number)
            for batch in batches:
                for record in batch:
                    object.__setattr__(record, "time", int(time.time() * 1000 * STAMPS.get(name, 1)))
            send(client, name, batches)


def place(broker: UserBroker, name: str) -> Path:
    """The directory of the topic."""
    return next(path / f"{name}-0" for path in broker.dirs if (path / f"{name}-0").exists())


def owned(path: Path, user: int, mode: int) -> None:
    """As a deployment that mounts the volume for somebody else."""
    for each in [*path.iterdir(), path]:
        os.chown(each, user, user)
        os.chmod(each, mode | (0o111 if each.is_dir() else 0))


def hurt(broker: UserBroker) -> None:
    """What a copy leaves: indexes that end in zeros, or are empty beside old modification times."""
    for index in place(broker, "zeros").glob("*.timeindex"):
        lengthen(index, bytes(120))
    old = time.time() - 3 * 86400
    for index in place(broker, "modified").glob("*.timeindex"):
        index.write_bytes(b"")
        os.utime(index.with_suffix(".log"), (old, old))


def told(lines: list[str], root: Path) -> list[str]:
    """The lines that speak of what is gone."""
    return [line.replace(str(root), "/data") for line in lines if TELLS.search(line)]


def said(broker: UserBroker) -> dict[str, list[list[object]]]:
    """What `explain retention` says of each topic before a start: base offset, goes, what the clock is."""
    own = {name: settings_of(broker.release, name) for name in TOPICS}
    found = {}
    config = ServerConfig.load(str(broker.config))
    dirs = broker_of([path for path in broker.dirs if path.exists()], broker.release.version, config)
    options = ForecastOptions(
        now_ms=int(time.time() * 1000) + FIRST_LOOK,
        topics=TopicSettings(of=own, source="known"),
        user=User.of(UID),
    )
    for each in reasons(dirs, options, lambda partition: partition.topic in TOPICS):
        found[each.topic] = (
            [["does not load", None, None]]
            if each.failure
            else [[f.segment.base_offset, bool(f.goes), doubt(f)] for f in each.verdicts if f.segment.size]
        )
    return found


def left(broker: UserBroker) -> dict[str, list[int]]:
    """The segments that have records, by topic."""
    logs = [log for path in broker.dirs for log in path.glob("*-0/*.log") if log.stat().st_size]
    found: dict[str, list[int]] = {}
    for log in sorted(logs):
        if (topic := log.parent.name.removesuffix("-0")) in TOPICS:
            found.setdefault(topic, []).append(int(log.stem))
    return found


@contextmanager
def broker_of_its_user(kind: Release, log_dirs: int) -> Iterator[tuple[UserBroker, Path]]:
    """Not started; and where it lies, in memory if that can be."""
    with tempfile.TemporaryDirectory(prefix=prefix("gone"), dir=MEMORY) as folder:
        root = Path(folder)
        root.chmod(0o755)
        more = {"settings": SETTINGS, "zookeeper": ZooKeeper.wanted(kind, root)}
        with UserBroker(kind, root / "b1", log_dirs=log_dirs, **more) as broker:
            broker.uid, broker.home = UID, root
            yield broker, root


def record(version: str) -> tuple[list[str], list[dict[str, object]]]:
    """Four starts of a broker of that release: its lines; what was said before each, and what was left."""
    kind = release(version)
    lines: list[str] = []
    beside: list[dict[str, object]] = []
    with broker_of_its_user(kind, log_dirs=2) as (broker, root):
        start(broker, root)
        create(broker.bootstrap, [Topic(name, settings_of(kind, name)) for name in TOPICS])
        fill(broker)
        broker.stop()
        hurt(broker)
        lines += ["# zeros-0 and modified-0 are hurt, and the broker is started"]
        beside.append({"said": said(broker)})
        start(broker, root)
        give_up_head(broker)
        delete_topic(broker.bootstrap, "doomed")
        look(kind)
        beside[-1]["left"] = left(broker)
        owned(place(broker, "mounted"), 0, 0o600)
        lines += [*told(broker.lines(), root), "# the files of mounted-0 become root's, and it is stopped"]
        broker.log_start = broker.log.stat().st_size
        broker.stop()
        lines += told(broker.lines(), root)
        owned(place(broker, "mounted"), UID, 0o644)
        lines += ["# they are the broker's again, and it is started"]
        beside.append({"said": said(broker)})
        start(broker, root)
        look(kind)
        beside[-1]["left"] = left(broker)
        broker.stop()
        lines += told(broker.lines(), root)
        for index in place(broker, "closed").glob("*.timeindex"):
            os.chown(index, 0, 0)
            os.chmod(index, 0o600)
        lines += ["# the time indexes of closed-0 are root's, and it is started"]
        beside.append({"said": said(broker)})
        try:
            start(broker, root, chown=False)
            look(kind)
        except LabError as error:
            lines += [f"# {error}".partition(", see")[0]]
        lines += told(broker.lines(), root)
        beside[-1]["left"] = left(broker)
        beside[-1]["offline"] = bool(offline_dirs(broker.lines()))
    return lines, beside


def give_up_head(broker: UserBroker) -> None:
    """DeleteRecords, as soon as there is a leader."""
    for attempt in range(20):
        try:
            return delete_head(broker.bootstrap, "trimmed", 16)
        except KafkaException:
            if attempt == 19:
                raise
            time.sleep(0.5)
    return None


def look(kind: Release) -> None:
    """Wait for the first look of retention, and a second one."""
    time.sleep(38 if kind.number < (3, 6) else 9)


def start(broker: UserBroker, root: Path, *, chown: bool = True) -> None:
    """As its user, to whom its dirs belong."""
    broker.configure()
    for path in broker.dirs:
        path.mkdir(exist_ok=True)
        if chown:
            subprocess.run(["chown", "-R", f"{UID}:{UID}", path], check=True)
    broker.launch()
    broker.wait_ready()


if __name__ == "__main__":
    for version in sys.argv[1:]:
        lines, beside = record(version)
        (HERE / "recorded" / f"{version}.log").write_text("\n".join([*lines, ""]))
        (HERE / "recorded" / f"{version}.json").write_text(json.dumps(beside) + "\n")
