"""What the next start does about a finding: right for the marker, the release and the place."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.checks import build_metadata as metadata
from tests.checks import build_partition as build
from tests.copies import copy_into
from tests.faults.hands import flipped, positions
from tests.faults.on_disk import lengthen
from tests.faults.patient import Patient
from tests.faults.table import fault_called
from tests.faults.written import (
    ACTIVE,
    ROLLED,
    clean_dir,
    in_place,
    killed_dir,
    known_and_formatted,
    metadata_dir,
    removed,
    two_dirs,
    written,
)
from tests.golden.shared import golden

from segmend.checks import CheckRun, Level
from segmend.findings import Basis, BrokerEffect, Finding, Safety, Severity
from segmend.loading import BrokerOutcome, start
from segmend.loading.prelude import ForecastOptions
from segmend.loading.run import forecast

EPOCHS = "t-0/leader-epoch-checkpoint"
POINTS = "recovery-point-offset-checkpoint"


def found(dirs: Sequence[Path], level: Level = Level.DEFAULT, release: str = "4.3") -> dict[str, Finding]:
    run = CheckRun(broker_of(dirs, release), level=level)
    return {finding.code: finding for finding in run}


def effect_of(dirs: Sequence[Path], code: str, release: str = "4.3") -> BrokerEffect:
    effect = found(dirs, Level.DEEP, release)[code].broker_effect
    assert effect is not None
    return effect


def lost_end(dirs: Sequence[Path]) -> None:
    in_place(f"{ACTIVE}.log", lambda data: data[: positions(data)[9]])(dirs)


def test_the_end_of_the_log_is_out_of_reach_after_a_clean_stop(tmp_path: Path) -> None:
    dirs = clean_dir(tmp_path)
    lost_end(dirs)
    effect = effect_of(dirs, "L25")
    assert (effect.effect, effect.basis) == ("tail-truncated", Basis.FORECAST)
    assert effect.records_lost > 0
    assert effect.text == f"cuts the log at offset {effect.offset}, {effect.records_lost} records lost"


def test_a_start_that_recovers_loses_nothing_more(tmp_path: Path) -> None:
    dirs = killed_dir(tmp_path)
    in_place(f"{ACTIVE}.index", lambda data: data[:8] + b"\xff" * 8 + data[16:])(dirs)
    findings = found(dirs)
    assert findings
    for finding in findings.values():
        assert finding.broker_effect is not None
        assert (finding.broker_effect.effect, finding.broker_effect.records_lost) == ("recovery-scan", 0)
        assert finding.severity == Severity.INFO


def test_a_segment_lost_behind_a_torn_end_is_an_error(tmp_path: Path) -> None:
    """A torn end alone is what a killed broker leaves; here the last segment waits for its name behind it."""
    dirs = killed_dir(tmp_path)
    in_place(f"{ROLLED}.log", lambda data: data + bytes(16))(dirs)
    removed(POINTS)(dirs)
    (dirs[0] / f"{ACTIVE}.log").rename(dirs[0] / f"{ACTIVE}.log.swap")
    (dirs[0] / f"{ROLLED}.timeindex.deleted").touch()
    findings = found(dirs, release="2.8")
    effect = findings["L02"].broker_effect
    assert effect is not None
    assert (effect.records_lost > 0, effect.effect) == (True, "segments-deleted")
    assert findings["L02"].severity == Severity.ERROR
    assert findings["N12"].severity == Severity.INFO


def test_a_wrong_crc_waits_for_a_consumer(tmp_path: Path) -> None:
    dirs = clean_dir(tmp_path)
    in_place(f"{ROLLED}.log", flipped(2))(dirs)
    finding = found(dirs, Level.DEEP)["L05"]
    assert finding.broker_effect is not None
    assert finding.broker_effect.effect == "reads-fail"
    assert finding.broker_effect.offset == finding.offset
    words = f"nothing at the start; a consumer that reaches offset {finding.offset} gets no further"
    assert finding.broker_effect.text.startswith(words)


def test_each_bad_batch_has_its_own_offset(tmp_path: Path) -> None:
    dirs = clean_dir(tmp_path)
    in_place(f"{ROLLED}.log", lambda data: flipped(4)(flipped(1)(data)))(dirs)
    run = CheckRun(broker_of([dirs[0]], "4.3"), level=Level.DEEP)
    told = [(each.offset, each.broker_effect.offset) for each in run if each.broker_effect]
    assert len(told) == 2
    assert all(offset == at for offset, at in told)


def test_a_recovery_deletes_what_follows_the_bad_batch(tmp_path: Path) -> None:
    dirs = killed_dir(tmp_path)
    written(POINTS, "0\n2\nt 0 0\nu 0 0\n")(dirs)
    in_place(f"{ROLLED}.log", flipped(2))(dirs)
    effect = effect_of(dirs, "L05")
    assert effect.effect == "tail-truncated"
    assert effect.text.startswith(f"cuts the log at offset {effect.offset}, ")
    assert "; deletes 2 segments from offset " in effect.text


def test_one_dir_of_two_goes_offline_the_only_one_takes_the_broker_along(tmp_path: Path) -> None:
    for base, expected in ((two_dirs, "dir-offline"), (clean_dir, "broker-refuses")):
        dirs = base(tmp_path / expected)
        written(EPOCHS, "0\n7\n0 0\n")(dirs)
        assert effect_of(dirs, "E01").effect == expected


def test_a_checkpoint_with_a_wrong_count(tmp_path: Path) -> None:
    dirs = two_dirs(tmp_path)
    written(POINTS, "0\n9\nv 0 0\n", 1)(dirs)
    effect = effect_of(dirs, "C01")
    assert effect.effect == "dir-offline"
    assert POINTS in effect.text


@pytest.mark.parametrize(
    ("file", "data", "code"),
    [
        ("v-0/leader-epoch-checkpoint", "0\nx\n", "E01"),
        (POINTS, "0\n9\nv 0 0\n", "C01"),
        (POINTS, "x\n", "C01"),
        ("t.bak/x", "", "N01"),
    ],
)
@pytest.mark.parametrize("release", ["2.8.2", "4.3"])
def test_nothing_is_met_in_a_dir_that_is_out_from_the_beginning(
    file: str, data: str, code: str, release: str, tmp_path: Path
) -> None:
    """Nor is it survived: once meta.properties can be read, it is what it is without that."""
    alone = two_dirs(tmp_path / "alone")
    beside = two_dirs(tmp_path / "beside")
    for dirs in (alone, beside):
        (dirs[1] / file).parent.mkdir(exist_ok=True)
        (dirs[1] / file).write_text(data)
    removed("meta.properties", 1)(beside)
    (beside[1] / "meta.properties").mkdir()
    assert found(alone, release=release)[code].broker_effect
    finding = found(beside, release=release)[code]
    assert finding.broker_effect
    assert (finding.broker_effect.effect, finding.broker_effect.basis) == ("none", Basis.MANUAL)
    assert finding.broker_effect.text.startswith("does not get so far: ")
    assert finding.severity == Severity.ERROR


def test_an_identity_that_is_missing_is_named(tmp_path: Path) -> None:
    dirs = two_dirs(tmp_path)
    removed("meta.properties", 1)(dirs)
    effect = effect_of(dirs, "K01")
    assert effect.effect == "broker-refuses"
    assert str(dirs[1]) in effect.text


def test_a_foreign_directory_is_named(tmp_path: Path) -> None:
    dirs = clean_dir(tmp_path)
    (dirs[0] / "t-0.bak").mkdir()
    effect = effect_of(dirs, "N01")
    assert effect.effect == "broker-refuses"
    assert "t-0.bak" in effect.text


def test_two_directories_of_one_partition(tmp_path: Path) -> None:
    dirs = two_dirs(tmp_path)
    written("t-0/partition.metadata", (dirs[0] / "t-0" / "partition.metadata").read_text(), 1)(dirs)
    assert effect_of(dirs, "N17").text.startswith("refuses to start: Duplicate log directories for t-0")


@pytest.mark.parametrize("empty", [0, 1])
def test_of_two_directories_the_one_without_records_is_to_go(tmp_path: Path, empty: int) -> None:
    """A broker made it anew while the dir of the other one was away; the order of the dirs says nothing."""
    dirs = two_dirs(tmp_path)
    copy_into(dirs[0] / "t-0", dirs[1] / "t-0")
    for path in (dirs[empty] / "t-0").glob("0*"):
        path.unlink()
    (dirs[empty] / "t-0" / f"{0:020d}.log").touch()
    (twin,) = [each for each in CheckRun(broker_of(dirs, "4.3")) if each.code == "N17"]
    assert (twin.dir, twin.remedy and twin.remedy.safety) == (str(dirs[empty]), Safety.SAFE)


def test_the_metadata_log_is_read_at_every_start(tmp_path: Path) -> None:
    dirs = metadata_dir(tmp_path)
    in_place(f"__cluster_metadata-0/{0:020d}.log", flipped(2))(dirs)
    effect = effect_of(dirs, "K07")
    assert effect.basis == Basis.FORECAST
    assert (effect.effect, effect.offset) == ("tail-truncated", 4)


@pytest.mark.parametrize(("release", "effect"), [("4.3", "stray-renamed"), ("2.8", "none")])
def test_the_release_decides(tmp_path: Path, release: str, effect: str) -> None:
    dirs = clean_dir(tmp_path)
    removed("t-0/partition.metadata")(dirs)
    assert effect_of(dirs, "M01", release).effect == effect


@pytest.mark.parametrize(("release", "severity"), [("4.3", Severity.ERROR), ("1.1", Severity.WARNING)])
def test_what_only_other_releases_die_of_is_a_warning(
    tmp_path: Path, release: str, severity: Severity
) -> None:
    dirs = clean_dir(tmp_path)
    written(EPOCHS, "0\n2\n-4 0\n5 10\n")(dirs)
    assert found(dirs, Level.STARTUP, release)["E03"].severity == severity


def test_a_healthy_dir_does_not_need_the_modules_of_a_start(tmp_path: Path) -> None:
    dirs = clean_dir(tmp_path)
    script = "import sys\nfrom segmend.cli.main import main\n"
    script += (
        f"status = main(['check', '--deep', *{list(map(str, dirs))}])\nprint(*sys.modules)\nsys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "segmend.checks.runner" in done.stdout.split()
    assert [name for name in done.stdout.split() if name.startswith("segmend.loading")] == []


def test_only_directories_with_findings_are_forecast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dirs = clean_dir(tmp_path)
    written(EPOCHS, "0\n7\n0 0\n")(dirs)
    loaded = []
    original = start.load_settled

    def noted(state: object, partition: object, situation: object) -> object:
        loaded.append(getattr(partition, "name", None))
        return original(state, partition, situation)  # type: ignore[arg-type]

    monkeypatch.setattr(start, "load_settled", noted)
    assert "E01" in found(dirs)
    assert loaded == ["t-0"]


@pytest.mark.parametrize(
    ("fault", "release", "words"),
    [
        (
            "log-size-5-old",
            "4.3",
            "Found record size 5 smaller than minimum record overhead (14) in file ...",
        ),
        ("log-size-5-old", "1.1", "Record size is smaller than minimum record overhead (14)"),
        ("index-missing-rolled", "4.3", "Could not find offset index file corresponding to log file"),
        ("index-missing-rolled", "2.0", None),
        ("index-missing-rolled", "0.10.2", "Could not find index file corresponding to log file"),
        ("start-beyond-end", "4.3", "Deleting all segments because logEndOffset"),
        ("start-beyond-end", "2.0", None),
    ],
)
def test_a_broker_is_quoted_as_its_release_speaks(
    tmp_path: Path, fault: str, release: str, words: str | None
) -> None:
    given = fault_called(fault)
    scene = replace(given.scenes[0], base=clean_dir)
    patient = scene.write(tmp_path)
    given.hurt(patient)
    says = found(patient.dirs, Level.DEEP, release)[scene.codes.rstrip("+")].broker_says
    assert (says or "").startswith(words or "")
    assert (says is None) == (words is None)


def test_a_topic_that_may_be_deleted_is_no_error(tmp_path: Path) -> None:
    given = fault_called("topic-unknown")
    patient = given.scenes[0].write(tmp_path)
    given.hurt(patient)
    finding = found(patient.dirs)["M07"]
    assert finding.broker_effect is not None
    assert (finding.broker_effect.records_lost, finding.severity) == (201, Severity.WARNING)


@pytest.mark.parametrize(
    ("name", "severities"),
    [
        ("snapshot-folder", ["info"]),
        ("index-folder-of-no-log", ["info"]),
        ("snapshot-folder-of-a-segment", ["warning", "error", "error"]),
        ("snapshot-folder-at-the-end", ["error", "error"]),
    ],
)
def test_a_directory_among_the_files_is_as_bad_as_what_is_written_there(
    name: str, severities: list[str], tmp_path: Path
) -> None:
    """Brokers of four releases were started on each; 4.3.1 empties a segment of a killed log for it."""
    fault = fault_called(name)
    found_ = []
    for number, scene in enumerate(fault.scenes):
        patient = scene.write(tmp_path / str(number))
        fault.hurt(patient)
        found_.append(str(found(patient.dirs, release=scene.release)["I23"].severity))
    assert found_ == severities


@pytest.mark.parametrize("name", ["log-torn-more-rolled", "log-tail-9-bytes-rolled"])
def test_bytes_behind_a_whole_rolled_segment_are_a_note_as_in_the_forecast(name: str, tmp_path: Path) -> None:
    """Four releases were started on them: readers go on with the next segment."""
    dirs = two_dirs(tmp_path)
    fault_called(name).hurt(Patient((dirs[0],), dirs[0] / "t-0", dirs[0] / "u-0"))
    (finding,) = found(dirs).values()
    assert (finding.code in ("L01", "L02"), finding.severity) == (True, Severity.INFO)


@pytest.mark.parametrize(("place", "effect"), [(0, "broker-refuses"), (1, "none")])
def test_a_bootstrap_checkpoint_is_read_beside_the_metadata_alone(
    place: int, effect: str, tmp_path: Path
) -> None:
    dirs = known_and_formatted(tmp_path)
    path = dirs[place] / "bootstrap.checkpoint"
    path.unlink()
    os.mkfifo(path)
    (finding,) = CheckRun(broker_of(dirs, "4.3"), level=Level.STARTUP)
    assert (finding.code, finding.broker_effect and finding.broker_effect.effect) == ("K14b", effect)


@pytest.mark.parametrize(("at", "says"), [(0, "metadata.version"), (1, "deserialize record at offset 1")])
def test_any_record_of_a_bootstrap_checkpoint_that_is_none_ends_the_start(
    at: int, says: str, tmp_path: Path
) -> None:
    """4.3.1 ended over one bit in eligible.leader.replicas.version."""
    dirs = known_and_formatted(tmp_path)
    values = [metadata.feature(name, 1) for name in ("metadata.version", "eligible.leader.replicas.version")]
    longer = values[1].replace(bytes((33,)), bytes((97,)), 1)
    damaged = [metadata.feature("other.version", 1), values[1]] if at == 0 else [values[0], longer]
    for told, code in ((values, None), (damaged, "K26")):
        records = [build.record(number, None, value) for number, value in enumerate(told)]
        (dirs[0] / "bootstrap.checkpoint").write_bytes(build.batch(0, records))
        found = [each for each in CheckRun(broker_of(dirs, "4.3"), level=Level.STARTUP) if each.code == "K26"]
        assert [each.code for each in found] == ([code] if code else [])
    effect = found[0].broker_effect
    assert effect is not None
    assert (effect.effect, says in (found[0].broker_says or "")) == ("broker-refuses", True)


@pytest.mark.parametrize(("key", "ends"), [("00000004", False), ("00000014", True), ("00000001", True)])
def test_a_control_record_of_a_bootstrap_checkpoint_that_is_none_of_krafts_ends_the_start(
    key: str, ends: bool, tmp_path: Path
) -> None:
    """4.3.1: "Unable to read control record at offset 7", of a footer of a type that nobody knows."""
    dirs = known_and_formatted(tmp_path)
    path = dirs[0] / "bootstrap.checkpoint"
    footer = build.batch(1, [build.record(0, bytes.fromhex(key), bytes(8))], attributes=0x20)
    lengthen(path, footer)
    run = CheckRun(broker_of(dirs, "4.3"), level=Level.STARTUP)
    assert [each.code for each in run if each.code == "K26"] == ["K26"] * ends


def test_what_every_start_does_soon_after_it_is_not_nothing(tmp_path: Path) -> None:
    """It was "nothing at this start; at others: it deletes it", of what goes a minute after each."""
    dirs = clean_dir(tmp_path)
    in_place(f"{ROLLED}.timeindex", lambda data: data + bytes(24))(dirs)
    for name in (f"u-0.{'0' * 32}-delete", f"u-1.{'0' * 32}-stray"):
        (dirs[0] / name).mkdir()
    effects = {code: each.broker_effect for code, each in found(dirs).items()}
    for code, words in (("N19", "it deletes it"), ("N20", "it loads it"), ("I14", "it takes the last entry")):
        effect = effects[code]
        assert effect is not None, code
        assert effect.text.lower().startswith(words), effect.text


@pytest.mark.parametrize("release", ["2.8", "3.3"])
def test_a_dir_that_fails_before_a_log_with_an_open_transaction(release: str, tmp_path: Path) -> None:
    """Since 3.0 a broker dies that reads such a log in a dir that is offline already; the forecast knows."""
    copy_into(golden("2.8.2-killed") / "b1", tmp_path / "b1")
    dirs = sorted((tmp_path / "b1").iterdir())
    (dirs[0] / "log-start-offset-checkpoint").write_text("0\n1\ntrimmed 0 150\n0\n")
    effect = found(dirs, release=release)["C07"].broker_effect
    *_, broker = forecast(broker_of(dirs, release), ForecastOptions())
    assert isinstance(broker, BrokerOutcome)
    refusal = broker.reason
    assert effect is not None
    assert (effect.text.startswith("refuses"), effect.text.endswith(str(refusal))) == (bool(refusal),) * 2
    assert bool(refusal) == (release == "3.3")
