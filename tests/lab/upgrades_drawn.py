"""Upgrades and downgrades over drawn settings: `python -m tests.lab.upgrades_drawn --seed 7 --count 20`.

A release writes a base with settings of a topic, of the running broker, of server.properties, and at a level
of metadata (`metadata.version`); another release starts on it with the same server.properties. Values lie at
the edges of what one of both takes; what the first does not take is not tried. Records have the dirs as they
were before the last start: `test_upgrades_drawn` holds today's forecast against them, without a broker.
"""

import argparse
import itertools
import json
import random
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from confluent_kafka import KafkaException

from segmend.broker.features import LEVELS
from segmend.broker.server_rules import server_refusals
from segmend.broker.settings import definition, definitions, narrowed, refusal
from segmend.loading import ForecastOptions, forecast
from segmend.logdir.config import ServerConfig
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release
from segmend.node.broker_dirs import BrokerDirs
from tests.copies import copy_tree
from tests.golden.pack import pack
from tests.golden.unpack import unpack
from tests.lab import settings, upgrade
from tests.lab.base import QUIET, quiet_port
from tests.lab.broker import SMALL, Broker, Seat
from tests.lab.disasters.run import fewest
from tests.lab.errors import LabError
from tests.lab.settings_drawn import value
from tests.lab.test_upgrades import points
from tests.lab.zookeeper import ZooKeeper

HERE = Path(__file__).parent
RECORD, ARCHIVE = HERE / "upgrades_drawn.jsonl", HERE / "upgrades_drawn.tar.xz"
CANNOT = (LabError, RuntimeError, KafkaException, TimeoutError)
OF_FILES = re.compile(
    r"log\.(?!dirs?$|retention|initial|cleaner\.backoff|index\.size|message\.timestamp)"
    r"|compression|message\.max|num\.recovery|unclean"
)
"""Settings of server.properties by which no start finds other ports, dirs or rights, or deletes at once."""
NOT_OF_TOPICS = re.compile(r"min\.insync|.*throttled|remote|local|retention|segment\.index|.*timestamp")
IBP = "inter.broker.protocol.version"
DIRS = ("b1/d0", "b1/d1")
Row = dict[str, Any]


@dataclass(frozen=True)
class Upgrade:
    """Who wrote, at which level, with which settings; and who starts."""

    written: str
    started: str
    level: str = ""
    topic: dict[str, str] = field(default_factory=dict)
    broker: dict[str, str] = field(default_factory=dict)
    file: dict[str, str] = field(default_factory=dict)

    @property
    def parts(self) -> list[tuple[str, str]]:
        """What can be left out, by field and name."""
        named = [(kind, name) for kind in ("topic", "broker", "file") for name in getattr(self, kind)]
        return [*named, *([("level", "")] if self.level else [])]

    def without(self, number: int) -> "Upgrade":
        """One of them fewer."""
        kind, name = self.parts[number]
        row = asdict(self)
        if kind == "level":
            return Upgrade(**(row | {"level": ""}))
        return Upgrade(**(row | {kind: {key: each for key, each in row[kind].items() if key != name}}))


def of(name: str) -> Release:
    """The release of a base or of who starts on it."""
    return Release.parse(name.partition("-")[0])


def drawn(seed: int) -> Iterator[Upgrade]:
    """Upgrades without end."""
    return (drawn_at(seed, number) for number in itertools.count())


def drawn_at(seed: int, number: int) -> Upgrade:
    """The one of that number; two of three go to a newer release."""
    draw = random.Random(f"{seed} {number}")
    written = draw.choice(upgrade.WRITTEN)
    mine = upgrade.named(written)
    others = [each for each in upgrade.STARTED if upgrade.named(each).mode == mine.mode]
    newer = [each for each in others if upgrade.named(each).number > mine.number]
    older = [each for each in others if upgrade.named(each).number < mine.number]
    started = draw.choice(newer if newer and (not older or draw.random() < 0.67) else older)
    levels = [each for each in LEVELS if (3, 3) <= of(each) <= of(written)] if mine.mode == "kraft" else []
    file = some(draw, written, started, draw.choice((0, 1, 2)), topic=False)
    if draw.random() < 0.3:
        file[IBP] = draw.choice([each for each in settings.VERSIONS if of(each) <= of(written)])
    return Upgrade(
        written,
        started,
        draw.choice(levels) if levels and draw.random() < 0.4 else "",
        some(draw, written, started, draw.choice((0, 1, 1, 2)), topic=True),
        some(draw, written, started, 1, topic=False) if draw.random() < 0.25 else {},
        {} if any(server_refusals(SMALL | QUIET | file, of(written))) else file,
    )


def some(draw: random.Random, written: str, started: str, count: int, *, topic: bool) -> dict[str, str]:
    """Values that the first release takes; every second of a setting of which the other takes fewer."""
    old, new = of(written), of(started)
    fit = NOT_OF_TOPICS.match if topic else lambda name: not OF_FILES.match(name)
    every = [name for name in sorted(definitions(topic=topic)) if not fit(name)]
    fewer = [name for name, *_ in narrowed(old, new, topic=topic) if not fit(name)]
    found: dict[str, str] = {}
    for _ in range(40):
        name = draw.choice(fewer if fewer and draw.random() < 0.5 else every)
        known, then = (definition(name, release, topic=topic) for release in (old, new))
        if known is None or len(found) == count:
            continue
        text = value(draw, then if then is not None and draw.random() < 0.5 else known)
        refused = [refusal(name, text, release, topic=topic) is not None for release in (old, new)]
        if not refused[0] and (refused[1] or name not in fewer or draw.random() < 0.2):
            found[name] = text
    return found


def made(one: Upgrade, root: Path) -> None:
    """The base as the first release leaves it at `root`."""
    kind, seat = upgrade.named(one.written), Seat(1, quiet_port(), quiet_port())
    (root / "base.json").write_text(json.dumps({"ports": [seat.port, seat.controller_port]}))
    with Broker(
        kind, root / "b1", seat, settings=QUIET | one.file, zookeeper=ZooKeeper.wanted(kind, root)
    ) as broker:
        upgrade.form(broker, (upgrade.LEVEL, one.level) if one.level else ())
        broker.start()
        upgrade.write(broker.bootstrap, one.topic)
        if one.broker:
            upgrade.change(broker.bootstrap, one.broker)
        broker.stop()
    for log in (root / "b1" / "server.log", root / "zookeeper" / "zookeeper.log"):
        log.unlink(missing_ok=True)


def played(one: Upgrade, home: Path) -> tuple[Row, list[str]]:
    """Both starts; the dirs as they were between them are left at `home`."""
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="upgrade-") as work:
        root = Path(work)
        made(one, root)
        for each in DIRS:
            copy_tree(root / each, home / each)
        shutil.copy(root / "base.json", home)
        with upgrade.broker_over(root, one.written, one.started) as broker:
            with broker.config.open("a") as stream:
                stream.writelines(f"{key}={text}\n" for key, text in one.file.items())
            broker.launch()
            verdict = upgrade.observe(broker, root)
    return verdict, compared(one, verdict, home)


def compared(one: Upgrade, verdict: Row, root: Path) -> list[str]:
    """Where today's forecast differs."""
    rows = upgrade.settings_over(root, one.written, one.started, "h:1") | one.file
    dirs = [LogDir.open(str(root / each)) for each in DIRS]
    broker = BrokerDirs(dirs, release=of(one.started), given=ServerConfig(given=rows))
    return points(verdict, list(forecast(broker, ForecastOptions())), root)


def recorded() -> list[Row]:
    """What is kept."""
    return [json.loads(line) for line in RECORD.read_text().splitlines()] if RECORD.exists() else []


def keep(rows: list[Row], home: Path) -> None:
    """Pack all of them: `home` has the dirs of each by its number."""
    RECORD.write_text("".join(f"{json.dumps(row, sort_keys=True)}\n" for row in rows))
    pack(home, sorted(path.name for path in home.iterdir()), ARCHIVE)


def main() -> int:
    """Try those that were not tried yet; 1 if a forecast differed."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab.upgrades_drawn", description=__doc__)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--shrink", action="store_true")
    args = parser.parse_args()
    rows, bad = recorded(), 0
    done = {row["n"] for row in rows}
    with tempfile.TemporaryDirectory(prefix="upgrades-") as work:
        home, part = Path(work) / "home", Path(work) / "part"
        home.mkdir()
        if ARCHIVE.exists():
            unpack(ARCHIVE, home)
        for number in (each for each in range(args.first, args.count) if f"{args.seed}-{each}" not in done):
            one = drawn_at(args.seed, number)
            try:
                verdict, found = played(one, part)
            except CANNOT as error:
                print(f"{one}: not tried, {str(error)[:200]}", flush=True)
                continue
            name = f"{args.seed}-{number}"
            part.rename(home / name)
            rows.append({"n": name, **asdict(one), "verdict": verdict})
            keep(rows, home)
            print(
                f"{name} {one}: {verdict['outcome']} {verdict.get('says', '')}",
                *found,
                sep="\n  ",
                flush=True,
            )
            if found and args.shrink:
                fewest(one, lambda each: each.parts, lambda each: played(each, part)[1])
            bad += bool(found)
    print(f"{len(rows)} recorded, {bad} forecasts differ")
    return 1 if bad else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the broker ends with it
    sys.exit(main())
