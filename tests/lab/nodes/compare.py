"""The forecast of a hurt node against what was recorded: `python -m tests.lab.nodes.compare NAME`."""

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from segmend.loading import BrokerOutcome, DirOutcome, ForecastOptions, PartitionOutcome, forecast
from segmend.loading.run import Line
from segmend.logdir.config import ServerConfig
from segmend.logdir.log_dir import LogDir
from tests.brokers import broker_of
from tests.golden.unpack import unpack
from tests.lab.nodes.base import HERE, archive, fresh, node, version_of
from tests.lab.nodes.disasters import DISASTERS, Disaster, Node

SETTING_ASIDE = {"stray-renamed", "directory-deleted"}


def recorded(name: str) -> dict[str, Any]:
    """What real nodes did, by disaster."""
    read: dict[str, Any] = json.loads((HERE / f"{name}.json").read_text())
    return read


def names() -> list[str]:
    """The bases that lie here."""
    return sorted(path.stem for path in HERE.glob("*.json"))


def disasters(name: str) -> list[Disaster]:
    """Those that were recorded on a base."""
    done = recorded(name)
    return [each for each in DISASTERS if each.name in done]


def opened(path: Path) -> LogDir:
    """A log dir, which may be no directory."""
    return LogDir.open(str(path)) if path.is_dir() else LogDir(str(path), {})


def forecasts(name: str, disaster: Disaster, source: Path, root: Path) -> Iterator[list[Line]]:
    """Without a server.properties, and with the one that the node had."""
    home, seat = fresh(source, root)
    hurt = Node(home)
    disaster.hurt(hurt)
    broker = node(name, root, seat, disaster.settings)
    broker.dirs = [hurt.dirs[number] for number in disaster.given]
    for config in (None, ServerConfig(given=broker.configuration())):
        yield list(forecast(broker_of(map(opened, broker.dirs), version_of(name), config), ForecastOptions()))


def disagreements(seen: dict[str, Any], all_seen: dict[str, Any], lines: Sequence[Line]) -> list[str]:
    """Every point in which the forecast is not what the node did; `all_seen` has the healthy one."""
    broker = next(line for line in lines if isinstance(line, BrokerOutcome))
    outcome = "starts" if broker.starts else "refuses"
    if seen["outcome"] == "waits" and broker.starts and broker.lost.partitions and broker.unknown:
        return []  # it cannot know that the voters were in the log alone, and tells the worst as such
    if outcome != {"waits": "refuses"}.get(seen["outcome"], seen["outcome"]):
        return [f"{seen['outcome']}, said {outcome}: {broker.reason}"]
    if not broker.starts:
        return []
    offline = sorted(
        Path(each.dir).name for each in lines if isinstance(each, DirOutcome) and not each.online
    )
    found = [] if offline == seen.get("offline", []) else [f"offline {seen.get('offline')}, said {offline}"]
    said = {each.name: each for each in lines if isinstance(each, PartitionOutcome)}
    for name, extent in seen["partitions"].items():
        found += of_partition(name, extent, said.get(name), seen)
    whole = seen["partitions"] == all_seen["nothing"]["partitions"] and "strays" not in seen
    if broker.nothing_lost and not whole:
        found.append("said that nothing is lost")
    alarms = [each.name for each in said.values() if each.matters and each.name in seen["partitions"]]
    if whole and alarms and "offline" not in seen:
        found.append(f"all is served, said otherwise of {alarms}")
    return found


def of_partition(name: str, extent: Any, said: PartitionOutcome | None, seen: dict[str, Any]) -> list[str]:
    """Of one partition."""
    strays = {place.partition("/")[2] for place in seen.get("strays", ())}
    deleted = {place.partition("/")[2] for place in seen.get("gone", ())}
    aside = said is not None and not SETTING_ASIDE.isdisjoint(each.effect for each in said.effects)
    found = []
    made_again = extent == [0, 0] and aside and "strays" not in seen
    if aside != (name in strays | deleted) and not made_again:
        found.append(f"{name}: stray {not aside}, said {aside}")
    after = None if said is None or said.after.log_end_offset is None else said.after
    told = None if after is None else [after.log_start_offset, after.log_end_offset]
    if name.startswith("__") and told is None and extent == [0, 0]:
        return found  # made anew for the client that looked
    if told != (extent if isinstance(extent, list) else None):
        found.append(f"{name}: {extent}, said {told} {said and said.outcome}")
    return found


def main(name: str, *wanted: str) -> None:
    """Print what differs."""
    agree = 0
    with tempfile.TemporaryDirectory() as work:
        source = unpack(archive(name), Path(work) / "base")
        for disaster in disasters(name):
            if wanted and disaster.name not in wanted:
                continue
            all_seen = recorded(name)
            seen = all_seen[disaster.name]
            for config, lines in enumerate(forecasts(name, disaster, source, Path(work) / "trial")):
                differing = disagreements(seen, all_seen, lines)
                agree += not differing
                if differing:
                    with_it = "with" if config else "without"
                    print(f"{disaster.name} {with_it} config: {'; '.join(differing)[:600]}")
                if wanted:
                    print(lines[-1].to_json())
    print(f"{name}: {agree} of {2 * len(disasters(name))} agree")


if __name__ == "__main__":
    main(*sys.argv[1:])
