"""Every golden directory started by every other release: `python -m tests.lab.goldens.record [GOLDEN...]`.

A golden directory is copied, given to root or to a user, and started with the server.properties that an
operator would write for that release: with ZooKeeper, which is told the topics that the directories
hold, or with roles and voters. What the broker did goes to `recorded/<golden>.json`; what is recorded
is not tried again. To be run as root.
"""

import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from segmend.broker.serving import NOT_LOADED as SAYS
from segmend.formats.names import CONSUMER_OFFSETS
from tests.conftest import GOLDEN
from tests.golden.judge import ask
from tests.golden.unpack import unpack
from tests.lab import upgrade
from tests.lab.base import quiet_port
from tests.lab.broker import Seat
from tests.lab.errors import LabError
from tests.lab.places.record import UserBroker
from tests.lab.trial import Trial, listing, offline_dirs, shortened
from tests.lab.zookeeper import ZooKeeper
from tests.surgery.shows.server import tell

HERE = Path(__file__).parent / "recorded"
USERS = {"root": 0, "user": 12345}
STARTED = ("0.10.2.2", *upgrade.STARTED)
GOLDENS = [
    f"{version}-{stop}"
    for stop in ("clean", "killed")
    for version in ("0.8.2.2", "0.10.2.2", "1.1.0", "2.8.2", "3.9.2", "4.3.1")
]
STEADY = 3
PARTITION = re.compile(r"d\d/((?!__cluster_metadata)[^/]+-\d+)")
NOT_LOADED = re.compile(SAYS[CONSUMER_OFFSETS].format(r"(\S+)"))
HEX = re.compile(r"\.[0-9a-f]{32}-")
Row = dict[str, Any]


def later(golden: str) -> list[str]:
    """The releases that may come after the one that wrote it; its own where there is none."""
    written = upgrade.named(golden.partition("-")[0])
    found = [
        started
        for started in STARTED
        if upgrade.named(started).number > written.number
        and not (written.mode == "kraft" and upgrade.named(started).mode == "zookeeper")
    ]
    return found or [written.version]


def earlier(golden: str) -> list[str]:
    """The releases of the same mode before the one that wrote it."""
    written = upgrade.named(golden.partition("-")[0])
    kinds = ((started, upgrade.named(started)) for started in STARTED)
    return [name for name, kind in kinds if kind.number < written.number and kind.mode == written.mode]


def starts(golden: str) -> list[str]:
    """Each by the release and whom the broker runs as; for the way back root is enough."""
    up = [f"{started} {user}" for started in later(golden) for user in USERS]
    return up + [f"{started} root" for started in earlier(golden)]


def settings(root: Path, golden: str, started: str, zookeeper: str) -> dict[str, str]:
    """server.properties over `root/b1`; nothing is compacted."""
    written = golden.partition("-")[0]
    return upgrade.settings_over(root, written, started, zookeeper) | {"log.cleaner.enable": "false"}


def folders(dirs: list[Path]) -> set[str]:
    """The directories in the log dirs."""
    return {HEX.sub(".HEX-", name) for name in listing(dirs)}


def served(broker: UserBroker, root: Path, wanted: set[str]) -> dict[str, Any]:
    """The partitions that have a leader, by their offsets: once all wanted have, or nothing changes."""
    seen, same, until = None, 0, time.monotonic() + 30
    while same < STEADY and time.monotonic() < until:
        now: dict[str, Any] = ask(broker.bootstrap, root, "--no-records")["partitions"]
        if wanted <= now.keys():
            return now
        same = same + 1 if now == seen else 0
        seen = now
        time.sleep(1)
    return seen or {}


def observe(broker: UserBroker, root: Path) -> Row:
    """What the launched broker does."""
    dirs = [root / "b1" / "d0", root / "b1" / "d1"]
    before = folders(dirs)
    try:
        broker.wait_ready(60)
        names = (PARTITION.fullmatch(name) for name in before)
        seen = served(broker, root, {found[1] for found in names if found})
    except LabError as error:
        lines = shortened(broker.lines(), root)
        if "was not up after" in str(error):
            return {"outcome": "hangs", "says": upgrade.without_class(upgrade.error_line(lines))}
        dead = Trial(False, lines, {}, offline_dirs(lines))
        return {
            "outcome": "refuses",
            "says": upgrade.without_class(dead.fatal() or ""),
            "offline": dead.offline,
        }
    lines, after = shortened(broker.lines(), root), folders(dirs)
    offsets = {
        name: [each["log_start_offset"], each["log_end_offset"]] for name, each in sorted(seen.items())
    }
    unloaded = sorted({found[1] for found in map(NOT_LOADED.search, lines) if found})
    return {
        "outcome": "starts" if broker.running else "refuses",
        **({"unloaded": unloaded} if unloaded else {}),
        "offline": offline_dirs(lines),
        "partitions": offsets,
        "gone": sorted(before - after),
        "new": sorted(name for name in after - before if ".HEX-" in name),
    }


def trial(golden: str, started: str, user: str) -> Row:
    """One start."""
    kind = upgrade.named(started)
    with tempfile.TemporaryDirectory(prefix="golden-") as work:
        root = Path(work)
        root.chmod(0o755)
        unpack(GOLDEN / f"{golden}.tar.xz", root)
        ports = quiet_port(), quiet_port()
        (root / "base.json").write_text(json.dumps({"ports": ports}))
        zookeeper = ZooKeeper.wanted(kind, root)
        with UserBroker(kind, root / "b1", Seat(1, *ports), zookeeper=zookeeper) as broker:
            broker.uid, broker.home = USERS[user] or None, Path(tempfile.gettempdir())
            if zookeeper:
                tell(zookeeper, root, root / "b1")
            rows = settings(root, golden, started, zookeeper.address if zookeeper else "")
            broker.config.write_text("".join(f"{key}={value}\n" for key, value in rows.items()))
            subprocess.run(["chown", "-R", f"{USERS[user]}:{USERS[user]}", root / "b1"], check=True)
            broker.launch()
            return observe(broker, root)


def save(golden: str, found: dict[str, Any]) -> None:
    """One line a start; of partitions what differs from `whole`, None where it has no leader."""
    rows = ",\n".join(f"{json.dumps(key)}: {json.dumps(found[key], sort_keys=True)}" for key in found)
    HERE.mkdir(exist_ok=True)
    (HERE / f"{golden}.json").write_text(f"{{\n{rows}\n}}\n")


def main(wanted: list[str]) -> None:
    """Record what is not recorded yet."""
    for golden in wanted or GOLDENS:
        path = HERE / f"{golden}.json"
        found: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
        for key in starts(golden):
            if key not in found:
                row = trial(golden, *key.split())
                seen = row.pop("partitions", None)
                if seen is not None:
                    whole = found.setdefault("whole", seen)
                    row["differ"] = {
                        name: seen.get(name)
                        for name in sorted({*whole, *seen})
                        if seen.get(name) != whole.get(name)
                    }
                found[key] = row
                print(golden, key, json.dumps(row)[:200], flush=True)
                save(golden, found)


if __name__ == "__main__":
    main(sys.argv[1:])
