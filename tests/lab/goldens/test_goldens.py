"""No false alarm on a healthy directory, and no word too few: each golden directory under each later release.

As `record` saw real brokers start them, as root and as a user: where all was served, neither `forecast` nor
`check` says a bad word; where a release refuses or sets aside, `explain upgrade` says it in its words.
"""

import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from segmend.checks import CheckRun
from segmend.explain.upgrade import here
from segmend.findings import Severity
from segmend.loading import BrokerOutcome, DirOutcome, ForecastOptions, PartitionOutcome, forecast
from segmend.loading.run import Line
from segmend.logdir.config import ServerConfig
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release
from segmend.logdir.user import User
from segmend.node.broker_dirs import BrokerDirs
from tests.conftest import GOLDEN, one_in
from tests.golden.unpack import unpack
from tests.lab import upgrade
from tests.lab.goldens import record
from tests.memory import MEMORY, may_be_used, prefix

RECORDS: dict[str, dict[str, Any]] = {
    golden: json.loads((record.HERE / f"{golden}.json").read_text()) for golden in record.GOLDENS
}
LEFT = ("stray-renamed", "directory-deleted")
"""What takes a directory from its place."""
MADE_AGAIN = "__consumer_offsets"
"""It is created anew, under its old name, for the consumer that asks for offsets."""
NO_END = "where this log ends"
"""How the forecast names a log whose extent it does not tell."""
GROWING, MARKERS = ("__transaction_state", "txn-open"), 2
"""After the start the coordinator ends what was left open for too long."""


class Node:
    """A golden directory before another release starts over it, owned by the user that this runs as."""

    def __init__(self, golden: str, root: Path) -> None:
        self.golden, self.root = golden, unpack(GOLDEN / f"{golden}.tar.xz", root)
        self.present = BrokerDirs(self.opened(), release=Release.parse(golden.partition("-")[0]))
        self.whole: dict[str, list[int]] = RECORDS[golden]["whole"]

    def opened(self) -> list[LogDir]:
        return [LogDir.open(str(self.root / "b1" / name)) for name in ("d0", "d1")]

    def given(self, uid: int) -> User:
        """All of it given to this user, if that can be done; else whose it is."""
        if os.geteuid() != 0:
            return User.named(str(os.geteuid()))
        for path in [self.root / "b1", *(self.root / "b1").rglob("*")]:
            os.chown(path, uid, uid)
        return User.named(f"{uid}:{uid}")

    def future(self, started: str) -> BrokerDirs:
        """The same dirs with the release and its server.properties."""
        rows = record.settings(self.root, self.golden, started, "h:1")
        release = Release.parse(started.partition("-")[0])
        return BrokerDirs(self.opened(), release=release, given=ServerConfig(given=rows))


def points(node: Node, row: dict[str, Any], lines: list[Line]) -> list[str]:
    """Where forecast and broker differ."""
    end = lines[-1]
    assert isinstance(end, BrokerOutcome)
    if (row["outcome"] == "starts") != end.starts:
        return [f"{row['outcome']} ({row.get('says')}), said {end.reason}"]
    if not end.starts:
        words = upgrade.without_class(str(end.reason).partition(" (topic")[0])
        return [] if words.replace(f"{node.root}/b1/", "")[:200] in row["says"] else [f"{row}, said {words}"]
    return [*of_dirs(row, lines), *of_partitions(node, row, lines, end), *alarms(node, row, end)]


def of_dirs(row: dict[str, Any], lines: list[Line]) -> list[str]:
    off = [Path(each.dir).name for each in lines if isinstance(each, DirOutcome) and not each.online]
    return [] if off == row["offline"] else [f"offline {row['offline']}, said {off}"]


def of_partitions(node: Node, row: dict[str, Any], lines: list[Line], end: BrokerOutcome) -> list[str]:
    found, unsaid = [], [each for each in end.unknown if NO_END in each]
    for line in (each for each in lines if isinstance(each, PartitionOutcome)):
        name = f"{line.topic}-{line.partition}"
        seen = row["differ"].get(name, node.whole.get(name))
        extent = [line.after.log_start_offset, line.after.log_end_offset]
        place = f"{Path(line.dir).name}/{line.name}"
        moved = place in row["gone"] or f"{place}.HEX-stray" in row["new"]
        if line.topic == MADE_AGAIN and extent == [None, None]:
            continue
        if any(each.startswith(f"{line.dir}/{line.name}: ") for each in unsaid):
            extent = [extent[0], seen[1]] if seen else [None, None]
        if line.topic in GROWING and seen and extent[1] is not None:
            seen = [seen[0], max(extent[1], seen[1] - MARKERS)]
        if extent != (seen or [None, None]):
            found.append(f"{name}: {seen}, said {extent}")
        # A replica that was being moved is served from the other dir.
        if (moved and not seen) != any(each.effect in LEFT for each in line.effects):
            found.append(f"{name}: gone {moved}, said {[each.effect for each in line.effects]}")
    return found


def is_well(row: dict[str, Any], whole: dict[str, list[int]]) -> bool:
    """Whether the broker started, and served all that it has to."""
    if row["outcome"] != "starts" or row["offline"] or row.get("unloaded"):
        return False
    return all(is_whole(name, seen, whole.get(name)) for name, seen in row["differ"].items())


def is_whole(name: str, seen: list[int] | None, whole: list[int] | None) -> bool:
    """Whether a log is served from its start to its end."""
    if seen is None or whole is None:
        return seen is not None
    grown = MARKERS if name.rpartition("-")[0] in GROWING else 0
    return seen[0] <= whole[0] and seen[1] >= whole[1] - grown


def alarms(node: Node, row: dict[str, Any], end: BrokerOutcome) -> list[str]:
    """A bad word where all is well, and a good one where it is not."""
    well = is_well(row, node.whole)
    if well == end.nothing_lost:
        return []
    return [f"well: {well}, said {end.lost}, {end.unserved} unserved, unknown {end.unknown}"]


def findings(future: BrokerDirs) -> list[str]:
    """Errors and warnings."""
    return [f"{each.code} {each.message}" for each in CheckRun(future) if each.severity != Severity.INFO]


def complaints(golden: str, keys: list[str], root: Path) -> dict[str, list[str]]:
    """By start, where what is said differs from what was."""
    node, found = Node(golden, root), {}
    for user, uid in record.USERS.items():
        options = ForecastOptions(user=node.given(uid))
        for key in (key for key in keys if key.endswith(f" {user}")):
            started, row = key.partition(" ")[0], RECORDS[golden][key]
            future = node.future(started)
            said = points(node, row, list(forecast(future, options)))
            if here(node.present, future, options).outcome.starts != (row["outcome"] == "starts"):
                said.append("explain upgrade says otherwise")
            # An earlier release may serve what old clients of its own cannot read (K19).
            up = started not in record.earlier(golden)
            found[key] = said + (findings(future) if up and is_well(row, node.whole) else [])
    return {key: said for key, said in found.items() if said}


def keys_of(golden: str) -> list[str]:
    return [key for key in RECORDS[golden] if key != "whole"]


@pytest.fixture
def root() -> Iterator[Path]:
    """Where the broker's user passes: beside pytest's own directory, which each run closes again."""
    home = MEMORY if may_be_used() else None
    with tempfile.TemporaryDirectory(prefix=prefix("golden"), dir=home) as made:
        Path(made).chmod(0o755)
        yield Path(made)


@pytest.mark.slow
@pytest.mark.parametrize("golden", one_in(12, record.GOLDENS))
def test_each_start_ends_as_said(golden: str, root: Path) -> None:
    assert complaints(golden, keys_of(golden), root) == {}


@pytest.mark.parametrize("golden", record.GOLDENS)
def test_each_later_and_earlier_release_is_recorded(golden: str) -> None:
    assert set(keys_of(golden)) == set(record.starts(golden))


def test_a_wrong_word_is_seen(tmp_path: Path) -> None:
    """The comparison fires: for a broker that refused, lost a partition, or a dir."""
    golden = "4.3.1-clean"
    node, (key, *_) = Node(golden, tmp_path), keys_of(golden)
    row, lines = RECORDS[golden][key], list(forecast(node.future("4.3.1"), ForecastOptions()))
    name = next(each.name for each in lines if isinstance(each, PartitionOutcome))
    assert points(node, row, lines) == []
    for wrong in (
        {"outcome": "refuses", "says": ""},
        row | {"offline": ["d1"]},
        row | {"differ": {name: None}},
        row | {"gone": [f"d0/{name}", f"d1/{name}"], "differ": {name: None}},
    ):
        assert points(node, wrong, lines), wrong
