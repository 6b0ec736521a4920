"""Disks that do not tell their release: what is right for each that it may be, or a question which it is."""

from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.checks.build_partition import write_log_dir
from tests.cli.run import run
from tests.conftest import golden_params, one_in
from tests.copies import copy_tree
from tests.faults.written import plain
from tests.golden.shared import golden

from segmend.checks import CheckOfAny, Level
from segmend.findings import Severity
from segmend.loading import BrokerOutcome, Forecast, ForecastOptions, forecast, forecast_any
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Guess, Release
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.candidates import each_release

MAY_BE = "any Kafka of 0.11 to 2.3 may be (--kafka says which; a plan that depends on it asks)"


def world(name: str, tmp_path: Path) -> list[Path]:
    copy_tree(golden(name), tmp_path / "data")
    return sorted(path.parent for path in (tmp_path / "data").rglob("meta.properties"))


@pytest.mark.slow
def test_of_a_killed_1_1_0_nothing_is_planned_by_the_rules_of_2_2(tmp_path: Path) -> None:
    dirs = world("1.1.0-killed", tmp_path)
    asked = run("plan", "repair", *dirs, "-o", tmp_path / "plan.json", code=16)
    assert "2.2: 32 steps, 1.1: 70 steps, 2.0: 32 steps, 2.0.1: 32 steps, 2.3: 0 steps" in asked.err
    assert "--kafka VERSION" in asked.err
    assert not (tmp_path / "plan.json").exists()
    assert run("plan", "repair", *dirs, "--kafka", "1.1").code == 0
    told = run("forecast", *dirs, code=0)
    assert (
        "any Kafka of 1.1 to 2.3 (--kafka says which): by the rules of 1.1 6 index-rebuilt more" in told.out
    )
    for asked in (["forecast", "--cluster", *dirs], ["fleet", "forecast", tmp_path, "--driver", "local"]):
        assumed = "; ".join(run(*asked, "--json").json[-1]["assumed"])
        assert "of 1.1 to 2.3 (--kafka says which): by the rules of 1.1 6 index-rebuilt more" in assumed
    times = run("explain", "startup", *dirs, "--json")
    assert (times.of("machine")[0]["kafka"], times.of("machine")[0]["kafka_may_be"]) == ("2.2", "1.1 to 2.3")
    other = {line["kafka"]: line for line in times.of("other-release")}
    assert other["2.3"]["worst"] > other["1.1"]["worst"]
    assert times.of("kubernetes")[0]["worst_seconds"] >= other["2.3"]["worst"], (
        "a probe waits for the slowest"
    )
    assert "  by the rules of 2.3: clean stop" in run("explain", "startup", *dirs).out
    run("plan", "move", *dirs, "--partition", "v1-none-0", "--to", dirs[1], code=0)


def test_a_rule_of_what_is_not_there_is_not_asked(tmp_path: Path) -> None:
    """Each that is asked may have the start played once more, by the rules before it."""
    broker = BrokerDirs([LogDir.open(str(write_log_dir(tmp_path / "a", [plain("orders")])))])
    assert any(isinstance(line, BrokerOutcome) for line in forecast(broker, ForecastOptions()))
    asked = broker.release.asked
    assert asked
    assert asked.isdisjoint({(3, 3), (3, 8), (4, 0)}), "of many threads, future replicas and ZooKeeper"


def test_each_part_of_the_range_is_asked_and_nothing_beyond_it() -> None:
    oldest, newest = Release((1, 1)), Release((2, 3))
    broker = BrokerDirs([], release=Guess(newest, "a guess", oldest, newest))
    changes = ((1, 1), (2, 0), (2, 3), (2, 4))

    def ask(one: BrokerDirs) -> None:
        assert one.release.asked is not None
        one.release.asked.update(changes)

    assert [str(each.release) for each, _ in each_release(broker, ask)] == ["2.3", "1.1", "2.0"]
    broker = BrokerDirs([], release=Guess(oldest, "a guess", oldest, newest))
    assert [str(each.release) for each, _ in each_release(broker, ask)] == ["1.1", "2.0", "2.3"]


def test_of_very_many_partitions_some_are_compared_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("segmend.loading.any_release.COMPARED", 12)
    dirs = world("1.1.0-killed", tmp_path)
    told = run("forecast", *dirs).out
    assert "other rules than those of 2.2 were tried on" in told
    assert "by the rules of 1.1" in told, "those of which anything is said are among them"


@pytest.mark.slow
def test_an_index_that_is_corrupt_to_some_of_the_releases_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Write-up 000: corrupt to 1.x, not to 2.x; the dir tells neither."""
    dirs = world("1.1.0-clean", tmp_path)
    index = min(dirs[0].glob("codec-none-0/*.index"))
    entry = bytes(7) + b"\x10"
    assert index.read_bytes()[:8] != entry
    index.write_bytes(entry)
    assert "codec-none" not in run("check", *dirs, "--kafka", "2.2", "--startup").out
    found = run("check", *dirs, "--startup").out
    assert "by the rules of Kafka 0.11, which this may be" in found
    assert f"{MAY_BE}; by the rules of 0.11 1 finding more" in found
    # Of many bytes only what a start looks at is compared: what else is wrong is not called missing there.
    log = min(dirs[0].glob("codec-none-0/*.log"))
    log.write_bytes(log.read_bytes()[:-1] + b"\xff")
    monkeypatch.setattr("segmend.checks.any_release.READ_AGAIN", 0)
    found = run("check", *dirs, "--deep").out
    assert "L05" in found
    assert f"{MAY_BE}, compared by what a start looks at" in found
    assert "fewer" not in found
    (row,) = (row for row in run("check", *dirs, "--startup", "--json").json if row.get("file"))
    assert row["detail"]["kafka"] == "0.11"


@pytest.mark.parametrize("read_again", one_in(2, [256 << 20, 0]))
def test_what_only_a_start_of_some_releases_looks_at_is_not_said_to_be_the_same(
    read_again: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A start of 1.1 rebuilds indexes that one of 2.3 leaves; of many bytes the answer is no other one."""
    monkeypatch.setattr("segmend.checks.any_release.READ_AGAIN", read_again)
    dirs = world("1.1.0-killed", tmp_path)
    assert not [each for each in run("check", *dirs, "--json").of("finding") if each["code"] == "I25"]
    (release,) = (line for line in run("check", *dirs).out.splitlines() if line.startswith("release: "))
    assert release.endswith("; not compared: which indexes a start up to 2.2 rebuilds (--startup does)")
    assert "by the rules of 1.1 " not in release
    found = run("check", *dirs, "--startup", "--json").of("finding")
    assert len({each["detail"].get("kafka") for each in found if each["code"] == "I25"}) > 1
    assert "not compared" not in run("check", *dirs, "--startup").out
    assert "not compared" not in run("check", *dirs, "--kafka", "1.1").out
    unseen = "which indexes a start up to 2.2 rebuilds"
    for level, told in ((), True), (("--deep",), True), (("--startup",), False), (("--ignore", "I25"), False):
        ran = run("check", *dirs, "--kafka", "1.1", "--only", "I25", *level)
        assert (f"not looked at: {unseen} (--startup does)" in ran.out) == told, level
    assert unseen in run("check", *dirs, "--kafka", "1.1", "--json").json[-1]["skipped"]
    assert unseen not in run("check", *dirs, "--kafka", "2.3", "--json").json[-1]["skipped"]


@pytest.mark.parametrize("name", ["4.3.1-clean", "4.3.1-killed"])
def test_no_other_release_is_asked_where_nothing_on_the_disk_depends_on_it(name: str) -> None:
    """How many threads load a dir, how an offset is searched, when epochs are written: here it is all one."""
    homes = (path.parent for path in golden(name).rglob("meta.properties"))
    broker = broker_of(home for home in homes if not (home / "__cluster_metadata-0").exists())
    assert broker.guess.words == "3.7 to 4.4"
    assert list(Forecast(broker, ForecastOptions()))
    assert broker.release.asked is not None
    assert [each for each in broker.release.asked if each > (3, 7, 1)] == []


@pytest.mark.parametrize("name", golden_params())
def test_no_release_that_a_golden_dir_may_be_of_finds_fault_with_it(name: str) -> None:
    for home in sorted(golden(name).glob("b*")):
        dirs = [LogDir.open(str(path.parent)) for path in sorted(home.rglob("meta.properties"))]
        dirs = dirs or [LogDir.open(str(path)) for path in sorted(home.iterdir())]  # 0.8 has none
        found = CheckOfAny(BrokerDirs(dirs), level=Level.DEEP)
        assert [each for each in found if each.severity is not Severity.INFO] == []
        assert not any("more" in line for line in found.summary.releases)
        start = forecast_any(BrokerDirs(dirs), ForecastOptions())
        worse = [line for line in start if isinstance(line, BrokerOutcome) for line in line.unknown]
        assert not [line for line in worse if "may be of any Kafka" in line]


LOG = "[2018-05-01 10:00:00,123] INFO KafkaConfig values: \n\tlog.dirs = {}\n"
OLD = "[2018-05-01 10:00:01,123] INFO Kafka version : {} (org.apache.kafka.common.utils.AppInfoParser)\n"


@pytest.mark.parametrize(
    ("file", "text", "release", "why"),
    [
        ("logs/server.log", LOG + OLD.format("0.11.0.1") + OLD.format("1.1.0"), "1.1.0", "at the last start"),
        ("server.log", LOG.format("/elsewhere") + OLD.format("1.1.0"), "2.2", "log-start-offset-checkpoint"),
        ("server.log", LOG + OLD.format("0.8.2"), "2.2", "log-start-offset-checkpoint"),
        (
            "config/server.properties",
            "log.dirs={}\ninter.broker.protocol.version=2.3-IV1\n",
            "2.3",
            "is 2.3 in",
        ),
        ("server.properties", "log.dirs=/elsewhere\ninter.broker.protocol.version=2.3\n", "2.2", "log-start"),
    ],
)
def test_what_lies_beside_a_dir_tells_its_release_if_it_speaks_of_it(
    file: str, text: str, release: str, why: str, tmp_path: Path
) -> None:
    home = tmp_path / "data"
    home.mkdir()
    (home / "log-start-offset-checkpoint").write_text("0\n0\n")
    (home / "meta.properties").write_text("version=0\nbroker.id=1\n")
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(text.replace("{}", str(home)))
    broker = broker_of([home])
    assert str(broker.release) == release
    assert why in broker.release_reason


@pytest.mark.slow
def test_a_release_told_without_its_patch_is_each_of_its_patches(tmp_path: Path) -> None:
    """2.4.1 writes other times into producer snapshots; 3.6.1 is the first that knows `-stray`."""
    dirs = world("2.8.2-clean", tmp_path)
    max(dirs[1].glob("txn-0/*.snapshot")).unlink()
    planned = {each: tmp_path / f"{each}.json" for each in ("2.4", "2.4.0", "2.4.1", "2.5")}
    answers = {
        each: run("plan", "repair", *dirs, "--kafka", each, "-o", path) for each, path in planned.items()
    }
    assert {each: answer.code for each, answer in answers.items()} == {
        "2.4": 16, "2.4.0": 0, "2.4.1": 0, "2.5": 0,
    }  # fmt: skip
    assert "of any Kafka of 2.4, which would not have the same plan (2.4.0: 1 step, 2.4.1: 1 step)" in (
        answers["2.4"].err
    )
    (dirs[0] / f"empty-1.{'0' * 32}-stray").mkdir()
    told = {each: run("forecast", *dirs, "--kafka", each) for each in ("3.6", "3.6.0", "3.6.1", "3.5")}
    assert "of any Kafka of 3.6 (--kafka says which): by the rules of 3.6.1 it starts" in told["3.6"].out
    assert not any("any Kafka of" in told[each].out for each in ("3.6.0", "3.6.1", "3.5"))
    found = run("check", *dirs, "--kafka", "3.6").out
    assert "N01" in found
    assert "broker: refuses to start" in found
    assert "by the rules of Kafka 3.6.1, which this may be" in found
    assert "-stray --kafka 3.6.1 -o plan.json" in found, "the next command asks by those rules"


@pytest.mark.slow
def test_patches_are_asked_only_where_they_differ(tmp_path: Path) -> None:
    dirs = [LogDir.open(str(path)) for path in world("2.8.2-clean", tmp_path)]
    for told in ("1.1", "2.3", "2.4", "2.5", "3.6", "3.7"):
        broker = BrokerDirs(dirs, release=Release.parse(told))
        assert len(list(each_release(broker, lambda each: list(forecast(each, ForecastOptions()))))) == 1, (
            told
        )
    assert BrokerDirs(dirs, release=Release.parse("3.7.2")).release.asked is None
