"""What real brokers leave behind, stopped or killed, is never called damage."""

from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.conftest import golden_params
from tests.copies import copy_tree
from tests.golden.shared import golden

from segmend.checks import CheckRun, Level
from segmend.findings import Severity
from segmend.logdir.log_dir import LogDir

# Facts, not faults: leftovers that the next start removes, and what a 1.1 broker rebuilds after a kill.
FACTS = {"N12", "N18", "N19", "N20", "I25"}


def brokers(root: Path) -> dict[Path, list[LogDir]]:
    """The log dirs of each broker below a golden directory."""
    found: dict[Path, list[LogDir]] = {}
    for path in sorted(root.glob("*/*")):
        if path.is_dir() and any(path.glob("*-checkpoint")):
            found.setdefault(path.parent, []).append(LogDir.open(str(path)))
    return found


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize("name", golden_params())
def test_healthy(name: str, level: Level) -> None:
    looked_at = brokers(golden(name))
    assert looked_at
    for dirs in looked_at.values():
        run = CheckRun(broker_of(dirs), level=level, jobs=2)
        findings = list(run)
        assert {finding.code for finding in findings if finding.severity == Severity.INFO} <= FACTS
        assert not [f.to_json() for f in findings if f.severity != Severity.INFO]
        assert run.summary.segments > 10


@pytest.mark.slow
def test_a_lost_cleaner_checkpoint_does_not_make_compaction_a_loss(tmp_path: Path) -> None:
    """The topic's cleanup.policy in the metadata tells as well that offsets may be missing."""
    copy_tree(golden("4.3.1-clean"), tmp_path / "golden")
    dirs = sorted(path.parent for path in (tmp_path / "golden").rglob("meta.properties"))
    for path in (tmp_path / "golden").rglob("cleaner-offset-checkpoint"):
        path.write_text("")
    opened = [LogDir.open(str(path)) for path in dirs]
    assert [f.code for f in CheckRun(broker_of(opened, "4.3")) if f.code == "L24"] == []
