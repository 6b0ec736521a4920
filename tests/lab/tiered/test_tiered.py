"""The forecast against what brokers with remote storage served after each wound."""

import json
import random
from pathlib import Path

import pytest

from segmend.cluster import ClusterDirs, ClusterForecast, ClusterOutcome, Leadership, Nodes
from segmend.cluster.values import Prospect
from segmend.loading import BrokerOutcome, ForecastOptions, PartitionOutcome, forecast
from segmend.logdir.config import ServerConfig
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release
from tests.brokers import broker_of
from tests.cli.run import run
from tests.conftest import one_in
from tests.copies import fresh
from tests.lab.errors import LabError
from tests.lab.releases import release
from tests.lab.tiered import several
from tests.lab.tiered.broker import jars_of_tests
from tests.lab.tiered.record import CUT, DIR, HERE, RECORDS, play
from tests.lab.tiered.several import THREE
from tests.lab.tiered.wounds import TOPICS, drawn, hurt
from tests.real.conftest import need_kafka
from tests.seeds import SEED

RECORDED = {path.stem: json.loads(path.read_text()) for path in sorted(HERE.glob("*.json"))}
assert RECORDED, "the recordings are part of the repository"
CASES = [(version, trial) for version, seen in RECORDED.items() for trial in drawn(seen["seed"])]
WHOLE = {"tier": [0, RECORDS], "cut": [CUT, RECORDS], "plain": [0, RECORDS]}
NODE = {"process.roles": "broker,controller", "node.id": "1"}


@pytest.mark.parametrize("case", one_in(4, CASES), ids=lambda case: f"{case[0]} {case[1].name}")
def test_what_is_served_is_forecast(case, tmp_path: Path) -> None:
    version, trial = case
    root = fresh(HERE / f"{version}.tar.xz", tmp_path)
    hurt(trial, root / DIR)
    used = {"remote.log.storage.system.enable": "true"} if trial.used else {}
    given = ServerConfig(given={**NODE, "log.dirs": str(root / DIR), **used})
    broker = broker_of([root / DIR], config=given, release=version)
    *lines, outcome = forecast(broker, ForecastOptions())
    assert isinstance(outcome, BrokerOutcome)
    seen = RECORDED[version][trial.name]
    served = {each.topic: each for each in lines if isinstance(each, PartitionOutcome)}
    for topic in TOPICS:
        after = served[topic].after
        unsure = any(f"{topic}-0" in words for words in outcome.unknown)
        start = seen[topic][0] if unsure else after.log_start_offset
        assert [start, after.log_end_offset] == seen[topic], (topic, outcome.unknown)
    if any(seen[topic] != WHOLE[topic] for topic in TOPICS):
        assert not outcome.nothing_lost
    if not trial.wounds and trial.used:
        assert outcome.nothing_lost
        assert any("remote storage" in words for words in outcome.assumed)


@pytest.mark.parametrize("version", RECORDED)
def test_what_is_in_remote_storage_only_is_no_part_of_a_rescue(version: str, tmp_path: Path) -> None:
    root = fresh(HERE / f"{version}.tar.xz", tmp_path)
    out = ["--out", str(tmp_path / "out"), "--as", "jsonl"]
    for command in (["rescue", *out], ["diff"]):
        ran = run(*command, root / DIR, "--topic", "cut", code=4)
        assert f"offsets {CUT} to 4000: no file here has them" in ran.out


@pytest.mark.broker
def test_a_live_broker_does_it_again(tmp_path: Path) -> None:
    """One of the recorded trials; `python -m tests.sweep` takes another each day."""
    need_kafka("4.3.1")
    try:
        jars_of_tests(release("4.3.1"))
    except LabError as missing:
        pytest.skip(str(missing))
    trial = random.Random(SEED).choice(drawn(RECORDED["4.3.1"]["seed"]))
    seen = RECORDED["4.3.1"][trial.name]
    assert play(release("4.3.1"), fresh(HERE / "4.3.1.tar.xz", tmp_path), trial, seen) == seen


THREE_SEEN = {path.stem: json.loads(path.read_text()) for path in sorted(THREE.glob("*.json"))}
OUTAGES = [(name, outage) for name, seen in THREE_SEEN.items() for outage in several.drawn(seen["seed"])]


@pytest.mark.parametrize("case", one_in(4, OUTAGES), ids=lambda case: f"{case[0]} {case[1].name}")
def test_what_three_brokers_serve_is_forecast(case, tmp_path: Path) -> None:
    (name, outage), version = case, case[0].partition("-")[0]
    root = fresh(THREE / f"{version}.tar.xz", tmp_path)
    outage.hurt(root)
    settings = {"process.roles": "broker,controller", **several.SETTINGS, **outage.settings}
    configs = {
        node: ServerConfig(given={**settings, "node.id": str(node), "log.dirs": str(root / path)})
        for node, path in enumerate(several.DIRS, 1)
    }
    dirs = [LogDir.open(str(root / path)) for path in several.DIRS]
    brokers = ClusterDirs(dirs, Release.parse(version), configs).brokers
    *lines, outcome = ClusterForecast(Nodes(brokers, ForecastOptions()), outage.up)
    assert isinstance(outcome, ClusterOutcome)
    told = {line.topic: line for line in lines if isinstance(line, Leadership)}
    seen = THREE_SEEN[name][outage.name]
    for topic in several.TOPICS:
        line, served = told[topic], seen[topic]
        if isinstance(served, str):
            assert line.outcome in (Prospect.LEADERLESS, Prospect.UNKNOWN), (served, line)
            continue
        ends = [
            (
                served[0] if _is_unsure(topic, outcome) else copy.after.log_start_offset,
                copy.after.log_end_offset,
            )
            for copy in line.copies
            if copy.node_id in (line.leaders_possible or ())
        ]
        assert tuple(served) in ends, (line, outcome.unknown)
    if any(seen[topic] != [0, several.RECORDS] for topic in several.TOPICS):
        assert not outcome.is_well
    if not outage.wounds and outage.used:
        assert any("remote storage" in words for words in outcome.assumed)


def _is_unsure(topic: str, outcome: ClusterOutcome) -> bool:
    return any(f"{topic}-0" in words for words in outcome.unknown)
