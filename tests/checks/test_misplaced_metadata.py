"""The metadata lies where its node does not look for it; seen on 3.9.2 and 4.3.1, which refuse to start."""

from pathlib import Path

import pytest
from tests.copies import copy_tree
from tests.golden.shared import golden

from segmend import check
from segmend.findings import Severity
from segmend.formats.names import CLUSTER_METADATA
from segmend.logdir.log_dir import LogDir


def found(*dirs: Path) -> list[tuple[str | None, Severity, str | None]]:
    logs = [LogDir.attempt(str(path)) for path in dirs]
    mine = (each for each in check(*logs, kafka="4.3.1") if each.code == "K28")
    return [(each.dir, each.severity, each.remedy and each.remedy.command) for each in mine]


def test_moved_into_another_dir_than_that_of_the_voter(tmp_path: Path) -> None:
    copy_tree(golden("4.3.1-clean") / "b1", tmp_path / "b1")
    one, other = tmp_path / "b1/d0", tmp_path / "b1/d1"
    (one / CLUSTER_METADATA).rename(other / CLUSTER_METADATA)
    ((where, severity, command),) = found(one, other)
    assert (where, severity) == (str(other), Severity.ERROR)
    assert command == f"mv -n {other}/{CLUSTER_METADATA} {one}/"
    (other / CLUSTER_METADATA).rename(one / CLUSTER_METADATA)
    assert found(one, other) == []


@pytest.mark.parametrize("release", ["3.9.2", "4.3.1"])
def test_disks_that_changed_places_are_a_note(release: str) -> None:
    one, other = sorted((golden(f"{release}-clean") / "b1").glob("d*"))
    assert found(one, other) == []
    assert found(other, one) == [(str(one), Severity.INFO, None)]
