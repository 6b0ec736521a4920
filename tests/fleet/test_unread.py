"""What an audit or a read could not look at is said in its tables: refused to its user, or gone meanwhile."""

import errno
import json
import random
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.beside import broker_on
from tests.cli.run import run as command
from tests.fleet.build import cut, three_brokers
from tests.fleet.refused import refuse, refuse_files
from tests.fleet.test_carried import run as carried_run
from tests.fleet.test_confirm import suspect
from tests.seeds import SEED, sampled

from segmend.cli.commands.fleet.audit.command import lines
from segmend.errors import SegmendError
from segmend.fleet import carried, delta, plan
from segmend.fleet.audit import AuditOutcome, AuditRequest, audit
from segmend.fleet.confirm import confirm
from segmend.fleet.driver import LocalDriver
from segmend.fleet.options import parse_options
from segmend.fleet.publish import finding_objects
from segmend.fleet.tables import open_table, read
from segmend.report.style import Style

LOG = f"{30:020d}.log"


class Meanwhile(LocalDriver):
    """Something happens after the tasks were planned, before they run."""

    def __init__(self, happens: Callable[[], object]) -> None:
        super().__init__(1)
        self._happens = happens

    def run(self, work: Any, tasks: Sequence[Any], done: Any = None) -> Iterator[Any]:
        self._happens()
        return super().run(work, tasks, *([] if done is None else [done]))


def run(root: Path, driver: LocalDriver | None = None) -> AuditOutcome:
    request = AuditRequest(paths=(str(root),), out=f"{root}/../out")
    return audit(request, driver or LocalDriver(1))


def told(root: Path, outcome: AuditOutcome) -> list[tuple[str, str]]:
    found = finding_objects(f"{root}/../out", outcome.run.run_id)
    return [(each["code"], f"{each['dir']}/{each['file']}") for each in found]


def statuses(root: Path, outcome: AuditOutcome) -> dict[tuple[int, str, int], str]:
    rows = delta.read(f"{root}/../out", "replicas", run_id=outcome.run.run_id).to_pylist()
    return {(row["broker"], row["topic"], row["partition"]): row["status"] for row in rows}


def test_what_is_refused_is_a_finding_and_no_replica_in_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = three_brokers(tmp_path / "fleet")
    refuse_files(monkeypatch, f"b2/data/orders-0/{LOG}", errno.EACCES)
    refuse(monkeypatch, "b3/data/clicks-1", errno.EPERM)
    outcome = run(root)
    places = [f"{root}/b2/data/orders-0/{LOG}", f"{root}/b3/data/clicks-1"]
    assert told(root, outcome) == [("R07", place) for place in places]
    assert (outcome.row["warnings"], outcome.exit_code) == (2, 12)
    words = f"{places[0]} and 1 more: could not be read with this user's permissions"
    assert outcome.row["skipped"][-1] == words
    unread = {each for each, status in statuses(root, outcome).items() if status == "unread"}
    assert unread == {(2, "orders", 0), (3, "clicks", 1)}


def test_all_that_is_compared_with_what_is_refused_is_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = three_brokers(tmp_path / "fleet")
    refuse_files(monkeypatch, f"b1/data/orders-0/{LOG}", errno.EACCES)
    unread = {each for each, status in statuses(root, run(root)).items() if status == "unread"}
    assert unread == {(broker, "orders", 0) for broker in (1, 2, 3)}


def test_a_difference_behind_a_log_that_is_refused_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each stretch of offsets is compared by itself."""
    root = three_brokers(tmp_path / "fleet")
    monkeypatch.setattr("segmend.fleet.confirm.DIGEST_OFFSETS", 30)
    path = root / f"b2/data/orders-0/{90:020d}.log"
    log = bytearray(path.read_bytes())
    log[12:16] = (7).to_bytes(4, "big")  # the leader epoch, which no checksum covers
    path.write_bytes(log)
    refuse_files(monkeypatch, f"b2/data/orders-0/{LOG}", errno.EACCES)
    [(*_, found)] = confirm([suspect(root, buckets=(1, 2, 3))])
    assert found is not None
    assert (found.offset, found.difference) == (90, "epoch")


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
@pytest.mark.parametrize("index", ["index", "timeindex"])
def test_a_log_is_read_whose_index_cannot_be(
    index: str, number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = three_brokers(tmp_path / "fleet")
    path = root / "b2/data/orders-0" / LOG
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        refuse_files(patch, f"b2/data/orders-0/{30:020d}.{index}", number)
        codes = carried_run(root, out).codes
    assert codes == {"L05": 1, "R07" if number == errno.EACCES else "K14b": 1}
    # The next one, by somebody who may, does not take over what was not compared with the index.
    after = carried_run(root, out, carried.LAST)
    carried_scans = delta.read(str(out), "segments", run_id=after.run.run_id).to_pylist()
    read = {row["file"] for row in carried_scans if row["carried_from"] is None and row["broker"] == 2}
    assert f"orders-0/{LOG}" in read
    assert after.row["carried_segments"] > 20


def test_the_report_and_the_summary_say_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = three_brokers(tmp_path / "fleet")
    log = f"{root}/b2/data/orders-0/{LOG}"
    refuse_files(monkeypatch, f"b2/data/orders-0/{LOG}", errno.EACCES)
    ran = command("fleet", "audit", root, "--out", tmp_path / "out", "--driver", "local", code=12)
    words = f"{log}: could not be read with this user's permissions"
    assert f"not looked at: {words}" in ran.out
    page = (tmp_path / "out/report.html").read_text()
    assert words in page.replace("&#39;", "'")
    assert "1 partition unread" in page
    assert "Every broker would start" not in page
    assert "1 broker not read in full, 1 warning" in page
    assert page.count("not known: not all could be read") > 0
    summary = json.loads((tmp_path / "out/summary.json").read_text())
    assert (summary["unreadable"], summary["codes"], summary["skipped"][-1]) == ([log], {"R07": 1}, words)


def test_what_was_found_where_now_all_is_refused_is_not_called_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = three_brokers(tmp_path / "fleet", edit={2: cut(5)})
    (root / "b2/data/orders-0" / LOG.replace(".log", ".index")).unlink()
    before = run(root).row
    refuse(monkeypatch, "b2/data/orders-0", errno.EACCES)
    outcome = run(root)
    assert (outcome.row["new_findings"], outcome.row["gone_findings"]) == (1, 0)
    unseen = before["errors"] + before["warnings"] + before["infos"]
    ran = command("fleet", "diff-runs", tmp_path / "out", code=4)
    assert unseen > 1
    assert ran.out.endswith(f": 1 new, 0 gone, {unseen} not looked at again\n")


def test_a_broker_in_many_tasks_tells_it_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "READ_AGAIN", 0)
    monkeypatch.setattr(plan, "WORTH_A_CORE", 1 << 10)
    root = three_brokers(tmp_path / "fleet")
    refuse_files(monkeypatch, "b2/data/recovery-point-offset-checkpoint", errno.EACCES)
    refuse_files(monkeypatch, f"b2/data/orders-0/{LOG}", errno.EACCES)
    names = ("recovery-point-offset-checkpoint", f"orders-0/{LOG}")
    assert sorted(told(root, run(root))) == sorted(("R07", f"{root}/b2/data/{name}") for name in names)


def _drawn(root: Path, random: random.Random) -> list[Path]:
    paths = [path for path in root.rglob("*") if path.suffix in (".log", ".index") or path.name[-2:] == "-0"]
    return random.sample(sorted(paths), random.randint(1, 6))


@pytest.mark.parametrize("number", range(sampled(40, 8)))
def test_whatever_is_refused_no_replica_passes_for_sound(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = random.Random(SEED + number)
    root = three_brokers(tmp_path / "fleet")
    chosen = _drawn(root, drawn)
    for path in chosen:
        (refuse if path.is_dir() else refuse_files)(monkeypatch, str(path), errno.EACCES)
    outcome = run(root)
    told_of = {place for code, place in told(root, outcome) if code == "R07"}
    # What lies in a directory that is refused is not even known.
    known = {str(path) for path in chosen if path.parent not in chosen}
    assert told_of == known == set(outcome.unreadable)
    for path in known:
        broker, _, name = Path(path).relative_to(root).parts[:3]
        key = int(broker[1:]), name[:-2], int(name[-1])
        assert statuses(root, outcome)[key] != "in-step", path


def test_a_partition_that_goes_while_an_audit_runs_is_called_gone(tmp_path: Path) -> None:
    root = three_brokers(tmp_path / "fleet")
    path = root / "b2/data/orders-0"
    outcome = run(root, Meanwhile(lambda: shutil.rmtree(path, ignore_errors=True)))
    assert outcome.row["skipped"][-1] == f"{path}: gone between being listed and being read"
    assert (outcome.unreadable, outcome.exit_code & 8) == ((str(path),), 8)


@pytest.mark.parametrize("whole", [False, True])
def test_what_a_running_broker_deletes_is_no_lack(whole: bool, tmp_path: Path) -> None:
    root = three_brokers(tmp_path / "fleet")
    (root / "b2/data/.lock").touch()
    path = root / "b2/data/orders-0" / ("" if whole else LOG)

    def delete(path: Path) -> None:
        """Once: the driver runs several jobs."""
        shutil.rmtree(path, ignore_errors=True) if whole else path.unlink(missing_ok=True)

    with broker_on(root / "b2/data"):
        outcome = run(root, Meanwhile(lambda: delete(path)))
    assert (outcome.unreadable, outcome.exit_code & 8) == ((), 0)


def test_a_log_that_goes_between_listing_and_reading_is_called_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = three_brokers(tmp_path / "fleet")
    refuse_files(monkeypatch, f"b2/data/orders-0/{LOG}", errno.ENOENT)
    outcome = run(root)
    words = f"{root}/b2/data/orders-0/{LOG}: gone between being listed and being read"
    assert outcome.row["skipped"][-1] == words
    assert (outcome.codes, outcome.exit_code) == ({}, 8)
    (totals, *_) = lines([], outcome, Style())
    assert totals.startswith("nothing wrong in what could be read of ")
    ran = command("check", root / "b2/data", code=8)  # no broker runs here, which may delete what it likes
    assert f"not looked at: gone before it was read: {root}/b2/data/orders-0/{LOG}" in ran.out


MODES = [
    ({"mode": "FAILFAST"}, "mode FAILFAST"),
    ({"failOnDataLoss": "true"}, "failOnDataLoss"),
    ({"mode": "DROPMALFORMED"}, None),
    ({}, None),
]


@pytest.mark.parametrize(("asked", "fails"), MODES)
@pytest.mark.parametrize("split", [{}, {"splitBytes": "600"}])
def test_a_read_calls_gone_what_is_gone(
    split: dict[str, str],
    asked: dict[str, str],
    fails: str | None,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
) -> None:
    root = three_brokers(tmp_path / "fleet")
    options = parse_options({"replicas": "all", "topics": "orders", **split, **asked})
    works = open_table([str(root)], options, cores=1)
    log = root / "b2/data/orders-0" / LOG
    log.unlink()

    def rows() -> list[Any]:
        return [row for work in works for some in read(work) for row in some.to_pylist()]

    if fails is not None:
        words = re.escape(f"{log}: gone since it was listed ({fails})")
        with pytest.raises(SegmendError, match=words):
            rows()
        return
    assert len(rows()) == 6 * 120 - 30
    words = "1 log is gone since the read was planned, in orders-0; no row comes of what is nowhere else"
    assert set(caplog.messages) == (set() if asked else {f"kafka-log: {words}"})


@pytest.mark.parametrize("table", ["segments", "findings", "partitions"])
def test_a_table_of_whole_partitions_tells_what_went(
    table: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = three_brokers(tmp_path / "fleet")
    works = open_table([str(root)], parse_options({"table": table}), cores=1)
    shutil.rmtree(root / "b2/data/orders-0")
    for work in works:
        list(read(work))
    assert caplog.messages == [f"kafka-log: gone since the read was planned: {root}/b2/data/orders-0"]


def test_a_range_tells_that_its_log_went_after_the_one_before_it_was_read(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    root = three_brokers(tmp_path / "fleet")
    works = open_table([str(root)], parse_options({"topics": "orders", "splitBytes": "600"}), cores=1)
    first, *others = sorted(
        (work for work in works for each in work.ranges if each.partition == 0),
        key=lambda work: work.ranges[0].order,
    )
    assert list(read(first))
    log = Path(first.ranges[0].place.path) / first.ranges[0].log_name
    log.unlink()
    for work in others:
        list(read(work))
    assert any("gone since the read was planned" in message for message in caplog.messages)
