"""Forecasts of a start by another release against what that release did: every pair in `upgrades.json`."""

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from segmend.broker.serving import NOT_LOADED
from segmend.cli.commands.explain.topics import upgrade as page
from segmend.loading import BrokerOutcome, ForecastOptions, PartitionOutcome, forecast
from segmend.loading.run import Line
from segmend.logdir.config import ServerConfig
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release
from segmend.node.broker_dirs import BrokerDirs
from tests.golden.unpack import unpack
from tests.lab import upgrade
from tests.lab.goldens import record as goldens
from tests.lab.upgrade import TOPICS, VARIANTS

RECORD: dict[str, dict[str, dict[str, Any]]] = json.loads(upgrade.RECORD.read_text())
PAIRS = [(written, started) for written, rows in RECORD.items() for started in rows]
OTHER_WORDS = "Unrecognized version of the server meta.properties file: 1"
"""What it logs of each dir; then none is left, and the broker says so."""
OLDEST = ("0.8.2.2", "0.10.2.2")
"""Releases of golden directories alone."""
EACH = 16
"""The fast tests take one pair of so many, the slow ones all."""


def opened(root: Path, written: str, started: str) -> BrokerDirs:
    """The base as the other release is given it, with its server.properties."""
    broker = upgrade.settings_over(root, written, started, "h:1")
    return BrokerDirs(
        [LogDir.open(str(path)) for path in sorted(root.glob("b1/d?"))],
        release=Release.parse(started.partition("-")[0]),
        given=ServerConfig(given=broker),
    )


def points(row: dict[str, Any], lines: list[Line], root: Path) -> list[str]:
    """Where forecast and broker differ."""
    end = lines[-1]
    assert isinstance(end, BrokerOutcome)
    if (row["outcome"] == "starts") != end.starts:
        return [f"{row['outcome']} ({row.get('says')}), said {end.reason}"]
    if not end.starts:
        words = str(end.reason).partition(" (topic")[0].replace(f"{root}/b1/", "")
        told = upgrade.without_class(words)[:200] in row["says"] or OTHER_WORDS in row["says"]
        return [] if told else [f"{row['says']}, said {words}"]
    mine = {line.topic: line for line in lines if isinstance(line, PartitionOutcome)}
    found = []
    for topic in TOPICS:
        line, seen = mine[topic], row["offsets"][topic]
        extent = [line.after.log_start_offset, line.after.log_end_offset]
        if extent != (seen[:2] if isinstance(seen, list) else [None, None]):
            found.append(f"{topic}: {seen}, said {extent}")
        effects = {effect.effect for effect in line.effects}
        for effect, kind in (("stray-renamed", "strays"), ("directory-deleted", "gone")):
            if (effect in effects) != (topic in row.get(kind, ())):
                found.append(f"{topic}: {kind} {row.get(kind)}, said {sorted(effects)}")
    for topic, number in itertools.product(NOT_LOADED, range(2)):
        words = NOT_LOADED[topic].format(f"{topic}-{number}")
        if any(words in each for each in row.get("errors", ())) != any(words in each for each in end.unknown):
            found.append(f"{row.get('errors')}, said {end.unknown}")
    harm = end.lost.partitions or end.unserved
    if bool(harm) != any(not isinstance(row["offsets"][topic], list) for topic in TOPICS):
        found.append(f"{row['offsets']}, said {end.lost}, {end.unserved} unserved")
    return found


def agree(pairs: list[tuple[str, str]], tmp_path: Path) -> None:
    found = {}
    for written in dict.fromkeys(written for written, _ in pairs):
        root = Path(unpack(upgrade.ARCHIVES / f"{written}.tar.xz", tmp_path / written))
        for started in (started for each, started in pairs if each == written):
            lines = list(forecast(opened(root, written, started), ForecastOptions()))
            found[written, started] = points(RECORD[written][started], lines, root)
    assert {pair: differ for pair, differ in found.items() if differ} == {}


@pytest.mark.sample
def test_some_pairs_end_as_forecast(tmp_path: Path) -> None:
    agree(PAIRS[::EACH], tmp_path)


@pytest.mark.slow
def test_every_pair_ends_as_forecast(tmp_path: Path) -> None:
    agree(PAIRS, tmp_path)


NO_LEVEL = ("Unsupported metadata version - ", "Tried to apply FeatureLevelRecord ")


def test_every_pair_is_recorded() -> None:
    wanted = {each: sorted(upgrade.STARTED) for each in upgrade.WRITTEN} | {
        each: sorted(variant.started) for each, variant in VARIANTS.items()
    }
    assert {written: sorted(rows) for written, rows in RECORD.items()} == wanted


@pytest.mark.broker
@pytest.mark.parametrize(("written", "started"), [("3.9.2+segment-bytes", "4.1.1"), ("4.1.1", "4.0.1")])
def test_a_live_broker_does_as_recorded(written: str, started: str) -> None:
    assert first_of_two(upgrade.trial(written, started)) == first_of_two(RECORD[written][started])


def first_of_two(row: dict[str, Any]) -> dict[str, Any]:
    """Two threads complain of a metadata level that 4.0 does not know; which is first, varies."""
    says = row.get("says", "")
    known = [each for each in NO_LEVEL if each in says]
    return {**row, "says": NO_LEVEL} if known else row


def in_words(served: list[bool] | None) -> str:
    """The sign of a cell: refused without anything served."""
    return "-" if served is None else "+" if all(served) else "!"


def seen(written: str, started: str) -> str:
    """What the records say of a pair; goldens where no base of that release was made."""
    if written in RECORD:
        row = RECORD[written][started]
        topics = [isinstance(row["offsets"][topic], list) for topic in TOPICS] if "offsets" in row else None
    else:
        row = json.loads((goldens.HERE / f"{written}-clean.json").read_text())[f"{started} root"]
        topics = [each is not None for each in row["differ"].values()] if "differ" in row else None
    return in_words(topics)


def test_the_page_has_the_table_of_the_records() -> None:
    """`segmend explain upgrade`: what brokers did, pair by pair."""
    lines = iter(str(page.__doc__).splitlines())
    head = next(line for line in lines if line.strip().startswith("written by"))
    columns = head.split()[2:]
    kraft = columns.index("3.9") + 1
    modes = [f"{each}-zk" if each >= "3" else each for each in columns[:kraft]] + columns[kraft:]
    started = {re.sub(r"(\d+\.\d+)\.[\d.]+", r"\1", name): name for name in upgrade.STARTED}
    written = {re.sub(r"(\d+\.\d+)\.[\d.]+", r"\1", name): name for name in (*OLDEST, *upgrade.WRITTEN)}
    rows = 0
    for line in itertools.takewhile(lambda line: not line.strip().startswith("+"), lines):
        name, *signs = line.replace(" KRaft", "-kraft").split()
        old, _, mode = name.partition("-")
        base = written[old if mode or f"{old}-zk" not in written else f"{old}-zk"]
        assert signs == [seen(base, started[each]) for each in modes], name
        rows += 1
    assert rows == len(written)
