"""One pass, the same findings in the same order whatever the number of threads."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.brokers import broker_of
from tests.faults.on_disk import flip, put_link
from tests.faults.written import clean_dir, killed_dir, two_dirs

from segmend import threads
from segmend.checks import CheckRun, Level, Wanted
from segmend.checks.registry import Check, all_checks
from segmend.findings import Severity
from segmend.logdir import disk
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.release import Release

RELEASE = Release.parse("4.3")


def checked(dirs: Sequence[Path], level: Level = Level.DEFAULT, **options) -> CheckRun:
    return CheckRun(broker_of(dirs, str(RELEASE)), level=level, **options)


def hurt(dirs: Sequence[Path]) -> Sequence[Path]:
    """Damage of every scope: a dir, a partition, two segments, a checkpoint."""
    (dirs[0] / "lost+found").mkdir()
    (dirs[0] / "u-0" / "notes.txt").touch()
    (dirs[0] / "u-0" / "partition.metadata").write_bytes(b"")
    (dirs[0] / "replication-offset-checkpoint").write_text("x")
    for name in ("t-0", "u-0"):
        for log in sorted((dirs[0] / name).glob("*.log"))[:2]:
            flip(log, -20)
    return dirs


@pytest.mark.parametrize("check", [each for each in all_checks() if each.of_problems], ids=lambda c: c.name)
def test_a_check_of_problems_has_nothing_to_say_without_one(check: Check) -> None:
    sound = SimpleNamespace(scan=SimpleNamespace(problems=()), context=None)
    assert list(check.run(sound, None)) == []


@pytest.mark.parametrize("level", Level)
def test_any_number_of_threads_gives_the_same(level: Level, tmp_path: Path) -> None:
    dirs = hurt(two_dirs(tmp_path))
    alone = [finding.to_json() for finding in checked(dirs, level, jobs=1)]
    assert alone
    assert alone == [finding.to_json() for finding in checked(dirs, level, jobs=4)]


def test_the_summary_counts_what_was_looked_at(tmp_path: Path) -> None:
    run = checked(clean_dir(tmp_path), Level.DEEP)
    assert not list(run)
    summary = run.summary.to_json()
    logs = list(tmp_path.rglob("*.log"))
    assert summary["type"] == "summary"
    assert (summary["partitions"], summary["segments"]) == (2, len(logs))
    assert summary["bytes"] == sum(log.stat().st_size for log in logs)
    assert summary["batches"] > 100
    assert summary["skipped"] == []
    assert summary["clean_shutdown"] == {str(tmp_path / "a"): True}
    assert summary["broker_running"] == {str(tmp_path / "a"): False}


def test_the_summary_says_what_was_not_looked_at(tmp_path: Path) -> None:
    dirs = clean_dir(tmp_path)
    for level, skipped in ((Level.STARTUP, 5), (Level.DEFAULT, 2)):
        run = checked(dirs, level)
        list(run)
        assert len(run.summary.skipped) == skipped
        assert "CRCs" in run.summary.skipped


def test_the_marker_decides_what_is_normal(tmp_path: Path) -> None:
    run = checked(killed_dir(tmp_path))
    assert not list(run)
    assert run.summary.clean == {str(tmp_path / "a"): False}


def test_only_and_ignore_and_topic(tmp_path: Path) -> None:
    dirs = hurt(clean_dir(tmp_path))
    everything = {finding.code for finding in checked(dirs, Level.DEEP)}
    assert {"N01", "M02", "C10", "L05", "N22"} <= everything
    assert {f.code for f in checked(dirs, Level.DEEP, wanted=Wanted(only=["L05"]))} == {"L05"}
    assert {f.code for f in checked(dirs, Level.DEEP, wanted=Wanted(ignore=["L05"]))} == everything - {"L05"}
    topics = {f.topic for f in checked(dirs, Level.DEEP, wanted=Wanted(topic="u*"))}
    assert topics == {None, "u"}
    named = list(checked(dirs, Level.DEEP, wanted=Wanted(names=["t-0"])))
    assert {finding.topic for finding in named} == {"t"}
    file = next(finding.file for finding in named if finding.code == "L05")
    only_file = list(checked(dirs, Level.DEEP, wanted=Wanted(names=["t-0"], files=[file])))
    assert {finding.file for finding in only_file} == {file}


def test_severities_are_counted(tmp_path: Path) -> None:
    run = checked(hurt(clean_dir(tmp_path)))
    found = list(run)
    for severity in Severity:
        assert run.summary.counts[severity] == sum(f.severity == severity for f in found)


def test_progress_reaches_the_total(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    list(checked(clean_dir(tmp_path), on_progress=lambda done, total: seen.append((done, total))))
    assert seen == sorted(seen)
    assert seen[-1][0] == seen[-1][1] > 0


def test_empty_logs_are_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A total of 0 was summed again at each partition: 10,000 of them took ten minutes to plan for."""
    for number in range(9):
        (tmp_path / f"t-{number}").mkdir()
        (tmp_path / f"t-{number}" / f"{0:020d}.log").touch()
    measured: list[str] = []
    monkeypatch.setattr(PartitionDir, "size", property(lambda self: len(measured.append(self.name) or "")))
    list(checked([tmp_path], on_progress=lambda done, total: None))
    assert measured
    assert len(measured) == len(set(measured))


def test_each_log_is_measured_once_before_a_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a partition of 1,000 segments, which are four slices, it was five times."""
    monkeypatch.setattr(threads, "SLICE_FILES", 1)
    looks = Counter[str]()

    def seen(path: str, look: Callable[..., object], **how: bool) -> object:
        looks[path] += 1
        return look(path, **how)

    for look in (disk.file_size, disk.file_stat):
        monkeypatch.setattr(disk, look.__name__, partial(seen, look=look))
    dirs = clean_dir(tmp_path)
    list(checked(dirs, Level.STARTUP, jobs=4))
    sealed = sorted((dirs[0] / "t-0").glob("*.log"))[:-1]
    assert len(sealed) > 2
    assert {looks[str(log)] for log in sealed} == {1}


def test_a_file_that_vanishes_is_passed_over(tmp_path: Path) -> None:
    dirs = clean_dir(tmp_path)
    opened = LogDir.open(str(dirs[0]))
    for partition in opened.partitions:
        assert partition.entries
    next((dirs[0] / "u-0").glob("*.log")).unlink()
    run = CheckRun(broker_of([opened], str(RELEASE)), level=Level.DEEP)
    assert not [finding for finding in run if finding.code.startswith("K")]


FILES = [
    "meta.properties",
    ".kafka_cleanshutdown",
    "recovery-point-offset-checkpoint",
    "u-0/leader-epoch-checkpoint",
    "u-0/partition.metadata",
    "u-0/00000000000000000018.log",
    "u-0/00000000000000000018.index",
    "u-0/00000000000000000036.timeindex",
    "u-0/00000000000000000036.snapshot",
]


@pytest.mark.parametrize("level", Level)
@pytest.mark.parametrize("name", FILES)
def test_a_loop_of_links_ends_nothing(name: str, level: Level, tmp_path: Path) -> None:
    """Whichever file cannot be opened: no exception, and the other partition is looked at."""
    dirs = hurt(clean_dir(tmp_path))
    put_link(dirs[0] / name, Path(name).name)
    run = checked(dirs, level)
    assert {finding.code for finding in run} >= {"N01", "C10"}
    assert run.summary.partitions == 2
