"""Options of `explain TOPIC` stand wherever they like: every topic there is, every option that it has."""

import argparse
import random
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.faults.written import two_dirs

from segmend.cli.commands.explain import command
from segmend.cli.commands.explain.topics import all_topics, operands

TOPICS = all_topics()
SAMPLES = {
    "VERSION": "3.9",
    "GLOB": "t",
    "TOPIC-N": "t-0",
    "N": "2",
    "MB/s": "100",
    "RELEASE": "3.9",
    "+HH:MM": "+02:00",
    "TIME": "+24h",
}
"""A value for each kind; a new one needs its sample here, and says so by failing."""


def actions(topic: str) -> list[argparse.Action]:
    """What the topic takes: its own options, and those that all have."""
    parser = argparse.ArgumentParser()
    command.configure(parser)
    taken = {*TOPICS[topic].OPTIONS, "json", "config", "kafka", "color"}
    return [each for each in parser._actions if each.dest in taken]


def words(action: argparse.Action, files: dict[str, str]) -> list[str]:
    option = action.option_strings[0]
    if action.nargs == 0:
        return [option]
    value = files.get(f"{action.dest} {action.metavar}") or (action.choices and next(iter(action.choices)))
    return [option, value or files.get(str(action.metavar)) or SAMPLES[str(action.metavar)]]


@pytest.mark.slow
@pytest.mark.parametrize("topic", TOPICS)
def test_any_order_means_the_same(topic: str, tmp_path: Path) -> None:
    dirs = two_dirs(tmp_path)
    config = tmp_path / "server.properties"
    config.write_text("log.retention.ms=1\n")
    log = tmp_path / "server.log"
    log.write_text(
        "[2026-01-01 00:00:00,000] INFO [Log partition=t-0, dir=/d] Truncating to offset 7 (kafka.log.Log)\n"
    )
    given = [str(log)] if operands(TOPICS[topic]) == "FILE" else [str(path) for path in dirs]
    settings = tmp_path / "t.properties"
    settings.write_text("retention.ms=5\n")
    files = {
        "config FILE": str(config),
        "topic_config PATH": str(settings),
        "PAGE": str(tmp_path / "page.html"),
    }
    options = [words(each, files) for each in actions(topic)]
    options = [each for each in options if run("explain", topic, *given, *each).code != 16]
    dice = random.Random(topic)
    for chosen in [[each] for each in options] + [dice.sample(options, 2) for _ in range(6)]:
        want = told([[topic], *([each] for each in given), *chosen, ["--json"]])
        for _ in range(4):
            parts = [[topic], *([each] for each in given)]
            for option in [*chosen, ["--json"]]:
                parts.insert(dice.randint(0, len(parts)), option)
            assert told(parts) == want, parts


def told(parts: list[list[str]]) -> tuple[int, list[tuple[str, list[str]]]]:
    """The exit code, and what kinds of lines there were."""
    ran = run("explain", *(word for part in parts for word in part))
    return ran.code, [(line["type"], sorted(line)) for line in ran.json]
