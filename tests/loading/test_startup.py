"""The study of a start from names and sizes, and what follows from it."""

from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.faults.patient import RECOVERY
from tests.faults.written import two_dirs, written
from tests.golden.shared import golden

from segmend.explain.disk_speed import BATCH_BYTES, Speed, batch_bytes, measure
from segmend.explain.rolling_restart import PERIOD_SECONDS, bounce, probe
from segmend.explain.startup import CASES, Study, study
from segmend.loading import ForecastOptions, forecast
from segmend.logdir.files import FileEntry
from segmend.logdir.release import Release

NEW = Release.parse("4.3")
GIVEN = Speed(bytes_per_second=100e6, given=True)


def study_of(dirs: list[Path], release: Release = NEW, threads: int = 1) -> Study:
    return study(broker_of(dirs, str(release)), threads, cores=4, speed=GIVEN)


@pytest.fixture
def dirs(tmp_path: Path) -> list[Path]:
    return two_dirs(tmp_path, clean=False)


def scanned(found: Study) -> list[int]:
    return [found.estimate(case).scanned_bytes for case in CASES]


def test_each_case_reads_more_than_the_one_before(dirs: list[Path]) -> None:
    assert scanned(study_of(dirs)) == sorted(scanned(study_of(dirs)))
    assert scanned(study_of(dirs))[0] == 0 < scanned(study_of(dirs))[1]


def test_without_recovery_points_everything_is_read(dirs: list[Path]) -> None:
    written(RECOVERY, "0\n0\n")(dirs)
    found = study_of(dirs[:1])
    logs = sum(path.stat().st_size for path in dirs[0].glob("*-*/*.log"))
    assert scanned(found)[1:] == [logs, pytest.approx(logs, abs=logs), logs]


def test_a_kill_is_what_the_forecast_says() -> None:
    """The same bytes, counted from names here and by playing the load there."""
    paths = sorted(golden("4.3.1-killed").glob("b1/d*"))
    run = forecast(broker_of(paths, str(NEW)), ForecastOptions(clean=False))
    list(run)
    assert run.broker is not None
    assert run.broker.time is not None
    found = study_of(paths)
    played = sum(d.total.scanned_bytes for d in run.broker.time.dirs)
    deleted = sum(path.stat().st_size for path in golden("4.3.1-killed").glob("b1/d*/*-delete/*.log"))
    assert played <= found.estimate("killed").scanned_bytes <= played + deleted
    assert found.segments == sum(d.total.segments for d in run.broker.time.dirs)


def test_eager_checks_are_those_of_old_releases(dirs: list[Path]) -> None:
    new = study_of(dirs)
    assert new.estimate("clean").parts["sanity_checks"] == 0
    assert new.estimate("clean", eager=True).parts["sanity_checks"] > 0
    old = study_of(dirs, Release.parse("1.1"))
    assert old.estimate("clean").parts == old.estimate("clean", eager=True).parts


def test_a_rolling_restart_is_the_sum_of_its_brokers(dirs: list[Path]) -> None:
    one, thirty = bounce(study_of(dirs), 1), bounce(study_of(dirs), 30)
    assert thirty.total == pytest.approx(30 * one.total)
    assert one.each == pytest.approx(one.stop + one.start + one.isr)


def test_the_probe_outlasts_the_worst_start(dirs: list[Path]) -> None:
    found = probe([study_of(dirs)], {})
    assert found.failure_threshold * PERIOD_SECONDS >= max(2 * found.worst, 300)
    assert found.port == 9092


def test_the_probe_asks_the_brokers_own_port(dirs: list[Path]) -> None:
    given = {"listeners": "CONTROLLER://:9093,PLAINTEXT://127.0.0.1:19092"}
    assert probe([study_of(dirs)], given).port == 19092


def entries(folder: Path, count: int, size: int) -> list[FileEntry]:
    for number in range(count):
        (folder / f"{number:020d}.log").write_bytes(b"\1" * size)
    return [FileEntry.at(f"{folder}/{number:020d}.log") for number in range(count)]


def test_the_disk_is_measured_on_a_bounded_part(tmp_path: Path) -> None:
    found = measure(entries(tmp_path, 3, 40 << 20), [])
    assert 0 < found.bytes_read <= 64 << 20
    assert found.bytes_per_second is not None
    assert found.bytes_per_second > 0
    assert not found.given


def test_nothing_to_measure(tmp_path: Path) -> None:
    missing = [FileEntry.at(f"{tmp_path}/{0:020d}.log")]
    for logs in ([], missing, entries(tmp_path, 1, 0), entries(tmp_path, 9, 100)):
        assert measure(logs, logs).bytes_per_second is None
        assert batch_bytes(logs) == BATCH_BYTES


def test_the_mean_batch_is_sampled(dirs: list[Path]) -> None:
    logs = [FileEntry.at(str(path)) for path in sorted(dirs[0].glob("t-0/*.log"))]
    assert 60 < batch_bytes(logs) < 5000
