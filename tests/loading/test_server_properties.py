"""What a server.properties of an odd shape says to a forecast, and what it leaves to others."""

import os
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.faults.written import known_dirs, two_dirs
from tests.lab.settings import KRAFT


@pytest.fixture
def dirs(tmp_path: Path) -> list[Path]:
    return known_dirs(tmp_path)


def test_a_log_dir_that_the_configuration_does_not_name(dirs: list[Path], tmp_path: Path) -> None:
    given = tmp_path / "server.properties"
    given.write_text(f"node.id=1\nlog.dirs={dirs[0]}\n")
    ran = run("forecast", *dirs, "--config", given, "--json", "--kafka", "4.3.1")
    assert ran.code == 4
    assert any(f"{dirs[1]}: no log dir in" in each for each in ran.json[-1]["unknown"])
    given.write_text("node.id=1\nlog.dirs=/nowhere/of/another/machine\n")
    assert run("forecast", *dirs, "--config", given, "--json", "--kafka", "4.3.1").code == 0


@pytest.mark.parametrize(
    ("line", "kafka", "says"),
    [
        ("log.dirs=\nlog.dir={}", "4.1", "requirement failed: At least one log directory must be defined"),
        ("log.dirs=,", "3.9", "requirement failed: At least one log directory must be defined"),
        ("log.dirs=,", "4.3.1", "Configuration 'log.dirs' values must not be empty."),
        ("log.dirs={}\nany=\\u00zz", "4.3.1", "Malformed \\uxxxx encoding."),
        ("log.dirs={},{}\nmetadata.log.dir=", "4.3.1", "(the configured metadata directory is )."),
    ],
)
def test_a_configuration_at_which_the_process_ends(
    dirs: list[Path], tmp_path: Path, line: str, kafka: str, says: str
) -> None:
    """As `KafkaConfig` of 1.1.0, 3.9.2, 4.1.1 and 4.3.1 said, and starts of 4.3.1 on the last two."""
    given = tmp_path / "server.properties"
    given.write_text(f"node.id=1\n{line.format(*dirs)}\n")
    ran = run("forecast", *dirs, "--config", given, "--json", "--kafka", kafka)
    assert ran.code == 4
    assert says in ran.json[-1]["reason"]


def test_what_a_config_provider_knows_is_assumed(dirs: list[Path], tmp_path: Path) -> None:
    given = tmp_path / "server.properties"
    given.write_text("config.providers=env\nlog.dirs=${env:DIRS}\nlog.retention.hours=${env:HOURS}\n")
    ran = run("forecast", *dirs, "--config", given, "--json", "--kafka", "4.3.1")
    assert ran.code == 0
    assert ran.json[-1]["assumed"][-2].endswith(
        "and no other log dirs, where a config provider is asked: log.dirs, log.retention.hours"
    )
    alone = run("forecast", "--config", given, "--kafka", "4.3.1")
    assert (alone.code, "config provider" in alone.err) == (16, True)
    told = run("explain", "retention", *dirs, "--config", given, "--kafka", "4.3.1", "--json")
    limits = [each["settings"]["retention.ms"]["known"] for each in told.of("partition")]
    assert limits
    assert not any(limits)


def test_settings_that_do_not_fit_one_another_refuse(dirs: list[Path], tmp_path: Path) -> None:
    """As `KafkaConfig` of 4.3.1 said; `tests.lab.settings` asked those of eleven releases."""
    given = tmp_path / "server.properties"
    rows = [
        f"log.dirs={','.join(map(str, dirs))}",
        *(each for each in KRAFT if not each.startswith("log.dirs")),
    ]
    answers = []
    for more in ("authorizer.class.name=mine", "advertised.listeners=PLAINTEXT://0.0.0.0:2"):
        given.write_text("\n".join([*rows, more, ""]))
        ran = run("forecast", *dirs, "--config", given, "--json", "--kafka", "4.3.1")
        answers.append((ran.code, ran.json[-1]))
    (code, sound), (refused, unsound) = answers
    assert (code, refused) == (0, 4)
    assert "what server.properties names is there, and fits: authorizer.class.name" in sound["assumed"]
    assert "cannot use the nonroutable meta-address 0.0.0.0" in unsound["reason"]


def test_a_release_without_config_providers_takes_their_names_for_values(
    dirs: list[Path], tmp_path: Path
) -> None:
    given = tmp_path / "server.properties"
    given.write_text("config.providers=env\nlog.retention.hours=${env:HOURS}\n")
    told = {
        release: run("forecast", *dirs, "--config", given, "--json", "--kafka", release).json[-1]
        for release in ("2.2", "2.3")
    }
    assert "Invalid value ${env:HOURS} for configuration log.retention.hours" in told["2.2"]["reason"]
    assert not any("config provider" in each for each in told["2.2"]["assumed"])
    assert any("config provider" in each for each in told["2.3"]["assumed"])


def test_a_release_without_config_providers_looks_for_a_dir_of_that_name(
    dirs: list[Path], tmp_path: Path
) -> None:
    odd = dirs[0].rename(dirs[0].parent / "${env:DIR}")
    given = tmp_path / "server.properties"
    given.write_text(f"config.providers=env\nlog.dirs={odd},{dirs[1]}\n")
    assert run("forecast", "--config", given, "--kafka", "2.3").code == 16
    ran = run("forecast", "--config", given, "--json", "--kafka", "2.2")
    assert [each["dir"] for each in ran.of("dir")] == [str(odd), str(dirs[1])]
    ran = run("forecast", dirs[1], "--config", given, "--json", "--kafka", "2.2")
    assert any(f"{odd}: a log dir in server.properties" in each for each in ran.json[-1]["unknown"])


def test_relative_log_dirs_are_those_of_a_directory(
    dirs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = tmp_path / "server.properties"
    given.write_text(f"node.id=1\nlog.dirs={','.join(each.name for each in dirs)}\n")
    monkeypatch.chdir(dirs[0].parent)
    ran = run("forecast", "--config", given, "--json", "--kafka", "4.3.1")
    assert ran.code == 0
    assert any("is started in this directory" in each for each in ran.json[-1]["assumed"])


def test_relative_log_dirs_where_the_working_directory_is_gone(
    dirs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = tmp_path / "server.properties"
    given.write_text(f"node.id=1\nlog.dirs={','.join(each.name for each in dirs)}\n")
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    ran = run("forecast", "--config", given, "--kafka", "4.3.1")
    assert (ran.code, ran.err.count("\n")) == (8, 1)
    monkeypatch.chdir(tmp_path)


def test_a_log_dir_with_a_nul_is_no_path(tmp_path: Path) -> None:
    given = tmp_path / "server.properties"
    given.write_text(r"log.dirs=/x\u0000y")
    ran = run("forecast", "--config", given)
    assert (ran.code, ran.err) == (8, "segmend: /x\\0y: not a path\n")


def test_zeros_of_a_preallocated_log_are_nothing_lost(tmp_path: Path) -> None:
    """`log.preallocate`: after a kill the active log is as long as a segment may be."""
    dirs = two_dirs(tmp_path, clean=False)
    active = max(dirs[0].glob("*-*/*.log"))
    given, length = tmp_path / "server.properties", active.stat().st_size + 5000
    os.truncate(active, length)
    given.write_text(f"broker.id=1\nlog.dirs={dirs[0]},{dirs[1]}\nlog.preallocate=true\n")
    asked = ("forecast", *dirs, "--config", given, "--json", "--kafka", "3.9.2")
    before = run(*asked).json[-1]["lost"]["bytes"]
    with given.open("a") as more:
        more.write(f"log.segment.bytes={length}\n")
    assert before - run(*asked).json[-1]["lost"]["bytes"] == 5000
