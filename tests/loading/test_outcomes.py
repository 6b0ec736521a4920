"""Every fault on written log dirs, with the outcomes that were reproduced on real classes."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.brokers import broker_of
from tests.conftest import one_in
from tests.copies import copy_tree
from tests.faults.patient import CLEANER
from tests.faults.table import Case, all_cases
from tests.faults.written import two_dirs
from tests.golden.shared import golden

from segmend.loading import DirOutcome, ForecastOptions, PartitionOutcome, forecast
from segmend.logdir.config import ServerConfig
from segmend.logdir.log_dir import LogDir


def start(dirs: Sequence[Path], release: str = "4.3.1", **more: Any) -> list[Any]:
    opened = [LogDir.open(str(path)) if path.is_dir() else LogDir(str(path), {}) for path in dirs]
    return list(forecast(broker_of(opened, release, more.pop("config", None)), ForecastOptions(**more)))


def of(lines: list[Any], name: str) -> list[PartitionOutcome]:
    return [line for line in lines if isinstance(line, PartitionOutcome) and line.name == name]


def online(lines: list[Any]) -> list[bool]:
    return [each.online for each in lines if isinstance(each, DirOutcome)]


def told(lines: list[Any], name: str) -> str:
    """What a start does to a partition, as the table of faults writes it."""
    words = [] if lines[-1].starts else ["refuses"]
    words += [] if all(online(lines)) else ["offline"]
    for line in of(lines, name)[:1]:
        words += sorted({effect.effect for effect in line.effects})
        if line.after.log_end_offset is not None:
            words.append(f"{line.after.log_start_offset}..{line.after.log_end_offset}")
        if line.records_lost:
            words.append(f"-{line.records_lost}")
    return " ".join(words)


def said(lines: list[Any], name: str) -> str:
    """What the broker logs, and the reasons it gives."""
    reasons = [lines[-1].reason, *(each.reason for each in lines if isinstance(each, DirOutcome))]
    for line in of(lines, name):
        reasons += [line.failure, *(effect.broker_says for effect in line.effects)]
    return "\n".join(filter(None, reasons))


@pytest.mark.parametrize("case", one_in(2, all_cases()), ids=str)
def test_a_start_does_what_the_table_says(case: Case, tmp_path: Path) -> None:
    lines = start(case.hurt(tmp_path).dirs, case.scene.release)
    assert told(lines, case.scene.on) == case.scene.start
    assert case.scene.says in said(lines, case.scene.on)


def test_nothing_is_read_in_a_dir_that_is_offline_from_the_beginning(tmp_path: Path) -> None:
    dirs = two_dirs(tmp_path)
    (dirs[1] / "meta.properties").write_text("version=9\n")
    (dirs[1] / "v-0" / "foo.log").write_text("")
    (dirs[1] / "lost+found").mkdir()
    lines = start(dirs)
    assert lines[-1].starts
    assert online(lines) == [True, False]
    assert of(lines, "v-0")[0].effects == ()


def test_a_cleaner_that_does_not_run_reads_no_checkpoint(tmp_path: Path) -> None:
    """As 2.8.2 with log.cleaner.enable=false did; only the cleaner itself meets that damage."""
    dirs = two_dirs(tmp_path)
    (dirs[0] / CLEANER).write_text("0\n1\ntorn\n")
    for enabled, expected in (("true", False), (" False", True)):
        config = ServerConfig(given={"log.cleaner.enable": enabled})
        assert online(start(dirs, config=config)) == [expected, True]


@pytest.mark.parametrize(("clean", "dirs", "named"), [(False, 2, True), (False, 1, False), (True, 2, False)])
def test_that_dirs_are_of_one_moment_is_named_where_nothing_tells_it(
    clean: bool, dirs: int, named: bool, tmp_path: Path
) -> None:
    """A copy of one of them, of some seconds before a kill, looks as the dir did then."""
    assumed = start(two_dirs(tmp_path, clean)[-dirs:])[-1].assumed
    assert any("its log dirs are of one moment" in each for each in assumed) is named


def test_so_it_is_beside_a_dir_with_the_metadata_alone(tmp_path: Path) -> None:
    copy_tree(golden("4.3.1-killed") / "b1", tmp_path / "b1")
    dirs = [tmp_path / "b1" / "d0", tmp_path / "b1" / "d1"]
    for each in dirs[0].glob("*-[0-9]"):
        if each.name != "__cluster_metadata-0":
            shutil.rmtree(each)
    assert any("its log dirs are of one moment" in each for each in start(dirs)[-1].assumed)
