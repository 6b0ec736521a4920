"""Log dirs that do not say whose they are, that nobody may read, or that have several names."""

import errno
import re
import shutil
from pathlib import Path

import pytest
from tests.cli.run import run as command
from tests.fleet.build import cut, three_brokers
from tests.fleet.refused import refuse
from tests.golden.shared import golden

from segmend.fleet.audit import AuditOutcome, AuditRequest, audit
from segmend.fleet.driver import LocalDriver
from segmend.fleet.listing import find_places
from segmend.fleet.publish import finding_objects


def run(out: Path, *paths: Path) -> AuditOutcome:
    return audit(AuditRequest(paths=tuple(map(str, paths)), out=str(out)), LocalDriver(1))


def another(root: Path, name: str) -> Path:
    """The same brokers of another cluster, which has other topics of the same names."""
    changed = {"meta.properties": r"cluster\.id=.{4}", "partition.metadata": r"topic_id: .{4}"}
    for file, ids in changed.items():
        for path in root.rglob(file):
            path.write_text(re.sub(ids, lambda match: f"{match[0][:-4]}{name}", path.read_text()))
    return root


def nameless(data: Path) -> Path:
    (data / "meta.properties").unlink()
    return data


def test_a_replica_that_is_behind_on_a_disk_without_a_name(tmp_path: Path) -> None:
    root = three_brokers(tmp_path / "fleet", edit={2: cut(5)})
    nameless(root / "b2/data")
    assert run(tmp_path / "out", root).codes["R01"] == 1


def test_of_several_clusters_topic_ids_tell(tmp_path: Path) -> None:
    one = three_brokers(tmp_path / "one", edit={2: cut(5)})
    other = another(three_brokers(tmp_path / "other"), "BBBB")
    data = nameless(one / "b2/data")
    whose = {place.path: place.cluster_id for place in find_places([str(one), str(other)])}
    assert whose[str(data)] == whose[f"{one}/b1/data"] != whose[f"{other}/b2/data"]
    assert run(tmp_path / "out", one, other).codes["R01"] == 1


def test_what_is_compared_with_nobody_is_said(tmp_path: Path) -> None:
    one = three_brokers(tmp_path / "one", edit={2: cut(5)})
    other = another(three_brokers(tmp_path / "other"), "BBBB")
    for file in nameless(one / "b2/data").rglob("partition.metadata"):
        file.unlink()
    out = ("--out", tmp_path / "out", "--driver", "local", "--no-report")
    told = command("fleet", "audit", one, other, *out)
    assert f"not looked at: replicas of {one}/b2/data against other brokers'" in told.out
    whole = command("fleet", "audit", other, *out)
    assert "not looked at: replicas" not in whole.out


def test_a_dir_of_several_names_is_found_once(tmp_path: Path) -> None:
    root = three_brokers(tmp_path / "fleet")
    (tmp_path / "again").symlink_to(root)
    paths = [place.path for place in find_places([str(root), str(tmp_path / "again")])]
    assert paths == [f"{root}/b{number}/data" for number in (1, 2, 3)]
    assert run(tmp_path / "out", tmp_path / "again", root).codes == {}


def test_what_may_lie_in_a_dir_that_nobody_can_read_is_not_called_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = three_brokers(tmp_path / "fleet")
    shutil.copytree(
        root / "b2/data", root / "b2/closed", ignore=shutil.ignore_patterns("orders-*", "clicks-*")
    )
    (root / "b2/data/orders-1").rename(root / "b2/closed/orders-1")
    refuse(monkeypatch, "b2/closed", errno.EACCES)
    outcome = run(tmp_path / "out", root)
    said = {f["code"]: f for f in finding_objects(str(tmp_path / "out"), outcome.run.run_id)}
    assert sorted(said) == ["K14b", "N27", "R03"]
    for code in ("N27", "R03"):
        assert f"it may lie in {root}/b2/closed, which could not" in said[code]["message"]
        assert (said[code]["severity"], "graft" in str(said[code]["remedy"])) == ("warning", False)


@pytest.mark.slow
def test_a_name_that_is_no_text_is_told(tmp_path: Path) -> None:
    root = three_brokers(tmp_path / "fleet")
    (root / "b2").rename(root / "b\udcff")
    nameless(root / "b\udcff/data")
    shutil.copy(root / "b1/data/meta.properties", root / "b3/data")
    out = ("--out", tmp_path / "out", "--driver", "local")
    told = command("fleet", "audit", root, *out)
    assert (told.code, told.err) == (4, "")
    assert "K04" in told.out
    assert r"b\xff/data/meta.properties" in told.out
    refused = command("fleet", "audit", root, "--out", f"{tmp_path}/\udcff", "--driver", "local")
    assert (refused.code, refused.err.count("\n")) == (8, 1)


def test_a_log_dir_that_only_the_metadata_tells_of_is_named(tmp_path: Path) -> None:
    dirs = sorted(golden("4.3.1-clean").glob("b1/*/"))
    told = [
        command("fleet", "audit", *given, "--out", tmp_path / "out", "--driver", "local", "--no-report")
        for given in (dirs[:1], dirs)
    ]
    words = "not looked at: other log dirs of broker 1, of which its metadata tells"
    assert [words in each.out for each in told] == [True, False]
