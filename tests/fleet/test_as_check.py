"""What an audit says of one broker is what `segmend check` says of it, whatever happened to it."""

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
from tests.lab.disasters.draw import drawn_at
from tests.lab.disasters.run import hurt_copy
from tests.seeds import SEED, sampled

from segmend.checks import CheckOfAny, Level
from segmend.fleet import plan
from segmend.fleet.audit import AuditRequest, audit
from segmend.fleet.driver import LocalDriver
from segmend.fleet.listing import brokers, find_places
from segmend.fleet.publish import finding_objects
from segmend.node.broker_dirs import BrokerDirs

FOUND = [
    ("1.1.0", 1, 5),  # which release it is nothing tells; by the rules of 0.11 more is wrong
    ("1.1.0", 5, 1),  # so it is of the records in snapshots
    ("4.0.1", 2, 0),  # what is wrong with a dir explains what is wrong in its partitions
]
"""Release, seed and number of disasters of which an audit once told something else."""
DRAWN = [(version, SEED, n) for n in range(sampled(20, 1)) for version in ("2.8.2", "3.9.2", "4.3.1")]
Told = Counter[tuple[str, ...]]
_SAME = (
    *("code", "severity", "dir", "topic", "partition", "file", "position", "offset", "message"),
    *("broker_says", "broker_effect", "remedy", "cause"),
)


def told(findings: list[dict[str, object]], names: tuple[str, ...] = _SAME) -> Told:
    return Counter(tuple(json.dumps(each[name], sort_keys=True) for name in names) for each in findings)


def of_one_release(findings: list[dict[str, object]]) -> Told:
    """Without what several tasks cannot tell: what lies in another's part, and in all logs read twice."""
    return told([each for each in findings if "(by the rules of" not in str(each["message"])], _SAME[:-2])


def of_audit(root: Path, out: Path) -> list[dict[str, object]]:
    outcome = audit(AuditRequest(paths=(str(root),), out=str(out), level=Level.DEEP), LocalDriver(1))
    rows = json.loads(json.dumps([*finding_objects(str(out), outcome.run.run_id)]))
    return [row for row in rows if row["source"] == "scan"]


def of_check(root: Path) -> list[dict[str, object]]:
    found = []
    for group in brokers(find_places([str(root)])).values():
        dirs = [opened for place in group if (opened := place.opened()) is not None]
        found += [each.to_json() for each in CheckOfAny(BrokerDirs(dirs), level=Level.DEEP)]
    return json.loads(json.dumps(found))


@pytest.fixture(params=[*FOUND, *DRAWN], ids=lambda each: "-".join(map(str, each)))
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    version, seed, number = request.param
    hurt_copy(drawn_at(version, seed, number), tmp_path / "broker")
    shutil.rmtree(tmp_path / "broker/zookeeper", ignore_errors=True)
    return tmp_path / "broker"


@pytest.mark.slow
def test_a_broker_in_one_task(broker: Path, tmp_path: Path) -> None:
    found, expected = of_audit(broker, tmp_path / "out"), of_check(broker)
    assert expected
    assert told(found) == told(expected)


@pytest.mark.slow
def test_a_broker_in_many_tasks(broker: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "READ_AGAIN", 0)
    monkeypatch.setattr(plan, "WORTH_A_CORE", 1 << 10)
    assert of_one_release(of_audit(broker, tmp_path / "out")) == of_one_release(of_check(broker))
