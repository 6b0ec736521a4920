"""Who leads after the outage of a whole cluster: the forecast against what real clusters did.

`python -m tests.lab.elections` records them. Who leads depends on who registers first; so the forecast names
who can, and promises a leader, or all records, only where every order gives them.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from segmend.cluster import ClusterDirs, ClusterForecast, Leadership, Nodes
from segmend.cluster.values import NodeOutcome, Prospect
from segmend.loading import ForecastOptions
from segmend.logdir.log_dir import LogDir
from tests.golden.unpack import unpack
from tests.lab.elections import HERE, TRIALS

RECORDS: dict[str, Any] = {path.stem: json.loads(path.read_text()) for path in sorted(HERE.glob("*.json"))}
assert RECORDS, "the recordings are part of the repository"
CASES = [
    pytest.param(name, trial, marks=[] if trial == "one-two" else pytest.mark.slow)
    for name, trials in RECORDS.items()
    for trial in trials
]


def complaints(line: Leadership, became: dict[str, Any], ends: dict[str, Any]) -> list[str]:
    """Where a partition became something else than was said."""
    name = f"{line.topic}-{line.partition}"
    leader, found = became["leader"], []
    if leader >= 0 and leader not in (line.leaders_possible or ()):
        found.append(f"{name}: led by {leader}, said {line.leaders_possible}")
    if leader < 0 and line.outcome != Prospect.LEADERLESS:
        found.append(f"{name}: no leader, said {line.outcome} by {line.leaders_possible}")
    if (
        leader >= 0
        and became["end"] < ends[name]["end"]
        and line.outcome not in (Prospect.AT_RISK, Prospect.LOSES)
    ):
        found.append(f"{name}: ends at {became['end']} of {ends[name]['end']}, said {line.outcome}")
    return found


@pytest.mark.parametrize(("name", "trial"), CASES)
def test_the_cluster_does_what_is_forecast(name: str, trial: str, tmp_path: Path) -> None:
    root, recorded = unpack(HERE / f"{name}.tar.xz", tmp_path), RECORDS[name][trial]
    ends = json.loads((root / "isr.json").read_text())
    up, hurt = TRIALS[trial]
    if hurt is not None:
        hurt(root)
    found = ClusterDirs(LogDir.open(str(path)) for path in sorted(root.glob("b*/d*")))
    lines = list(ClusterForecast(Nodes(found.brokers, ForecastOptions()), only=up))
    starts = {str(line.node_id): line.broker.starts for line in lines if isinstance(line, NodeOutcome)}
    assert starts == {node: word != "refuses" for node, word in recorded["became"].items()}
    partitions = [
        line for line in lines if isinstance(line, Leadership) and line.topic in ("full", "safe", "any")
    ]
    assert len(partitions) == 9
    if "partitions" not in recorded:
        assert {line.outcome for line in partitions} == {Prospect.LEADERLESS}
    became = recorded.get("partitions", {})
    said = [complaints(line, became[f"{line.topic}-{line.partition}"], ends) for line in partitions if became]
    assert [each for line in said for each in line] == []


def test_a_wrong_forecast_is_seen() -> None:
    """The comparison fires for each kind of wrong word."""
    said = Leadership(
        topic="t", partition=0, replicas=(1, 2), isr=(1, 2), elr=(), leaders_possible=(1, 2),
        in_sync_complete=(1, 2), copies=(), outcome=Prospect.LED,
    )  # fmt: skip
    ends = {"t-0": {"end": 30}}
    assert complaints(said, {"leader": 2, "end": 30}, ends) == []
    assert complaints(said, {"leader": 3, "end": 30}, ends)
    assert complaints(said, {"leader": 1, "end": 15}, ends)
    assert complaints(said, {"leader": -1}, ends)
