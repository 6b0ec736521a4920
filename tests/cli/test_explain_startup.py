"""`segmend explain startup` as a user runs it."""

from pathlib import Path

import pytest
from tests.cli.run import run
from tests.golden.shared import golden


@pytest.fixture
def dirs() -> list[Path]:
    return sorted(golden("4.3.1-killed").glob("b1/d*"))


def test_bare_it_is_a_page() -> None:
    ran = run("explain", "startup", code=0)
    for words in ("num.recovery.threads.per.data.dir", "KIP-263", "KAFKA-7283", "startupProbe"):
        assert words in ran.out
    assert len(ran.out.splitlines()) < 60


def test_the_page_as_json() -> None:
    (page,) = run("explain", "startup", "--json").json
    assert (page["type"], page["topic"]) == ("explanation", "startup")
    assert "KIP-263" in page["text"]


def test_for_people(dirs: list[Path]) -> None:
    ran = run("explain", "startup", *dirs, "--kafka", "4.3", "--brokers", 7, code=0)
    assert "recovery scan" in ran.out
    assert "num.recovery.threads.per.data.dir=2 (Kafka's default)" in ran.out
    assert "rolling restart of 7 brokers" in ran.out
    assert "      failureThreshold: " in ran.out
    assert "terminationGracePeriodSeconds: " in ran.out


def test_json(dirs: list[Path]) -> None:
    ran = run("explain", "startup", *dirs, "--json", "--read-speed", 123, "--threads", 3)
    (machine,) = ran.of("machine")
    assert (machine["read_speed"], machine["read_speed_given"], machine["threads"]) == (123e6, True, 3)
    cases = {line["case"]: line for line in ran.of("startup")}
    assert list(cases) == ["clean", "killed", "worst", "everything"]
    assert cases["clean"]["scanned_bytes"] == 0 < cases["killed"]["scanned_bytes"]
    assert cases["killed"]["breakdown"].keys() >= {"jvm", "open", "recovery_scan", "producer_state"}
    assert [line["threads"] for line in ran.of("threads")] == [1, 2, 3, 4, 8, 16]
    assert [line["sanity_checks"] for line in ran.of("kip-263")] == ["eager", "lazy"]
    assert {line["brokers"] for line in ran.of("rolling-restart")} == {30}
    (probe,) = ran.of("kubernetes")
    assert probe["failure_threshold"] * probe["period_seconds"] >= 2 * probe["worst_seconds"]


def test_a_slower_disk_takes_longer(dirs: list[Path]) -> None:
    fast, slow = (
        run("explain", "startup", *dirs, "--json", "--read-speed", speed).of("startup")
        for speed in (1000, 0.01)
    )
    assert slow[1]["seconds"] > fast[1]["seconds"]
    assert slow[0]["seconds"] == fast[0]["seconds"]


def test_settings_come_from_the_configuration(dirs: list[Path], tmp_path: Path) -> None:
    config = tmp_path / "server.properties"
    config.write_text("num.recovery.threads.per.data.dir=6\nlisteners=PLAINTEXT://:19092\n")
    ran = run("explain", "startup", *dirs, "--config", config)
    assert "(server.properties: num.recovery.threads.per.data.dir=6)" in ran.out
    assert "port: 19092" in ran.out


def test_an_old_broker_checks_every_index() -> None:
    old = sorted(golden("1.1.0-killed").glob("b1/d*"))
    cases = run("explain", "startup", *old, "--json").of("startup")
    assert cases[0]["breakdown"]["sanity_checks"] > 0


def test_an_empty_log_dir(tmp_path: Path) -> None:
    ran = run("explain", "startup", tmp_path, code=0)
    assert "too little here to measure it on" in ran.out


@pytest.mark.parametrize(
    ("arguments", "words", "code"),
    [
        (["startup", "/nowhere"], "/nowhere: no such directory", 8),
        (["startup", "DIR", "--read-speed", "fast"], "'fast' is no speed in MB/s", 16),
        (["startup", "DIR", "--read-speed", "-1"], "no speed in MB/s", 16),
        (["startup", "DIR", "--read-speed", "nan"], "no speed in MB/s", 16),
        (["startup", "DIR", "--threads", "0"], "'0' is no number above 0", 16),
        (["startup", "DIR", "--kafka", "9"], "'9' is no Kafka release", 16),
        (["startup", "DIR", "--config", "/nowhere"], "/nowhere: ", 8),
        (["startup", "--brokers", "3"], "--brokers is for `segmend explain startup DIR...`", 16),
        (
            ["startup", "DIR", "--topic", "t"],
            "--topic is for `segmend explain compaction or gone or merge or retention DIR... or FILE...`",
            16,
        ),
        (["L05", "--threads", "3"], "--threads is for `segmend explain startup DIR...`", 16),
        (["L05", "--kafka", "3.9"], "--kafka and --config are for a topic", 16),
        (["start"], "no finding is called 'start', and no topic", 16),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], words: str, code: int, tmp_path: Path) -> None:
    ran = run("explain", *(tmp_path if word == "DIR" else word for word in arguments), code=code)
    assert words in ran.err
    assert len(ran.err.splitlines()) == 1
    assert ran.out == ""
