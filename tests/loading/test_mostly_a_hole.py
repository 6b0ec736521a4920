"""A large log that is mostly a hole: no start looks into it, and reading all of it takes long."""

import os
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.faults.written import two_dirs

LARGE = 300 << 20
"""More than a forecast reads beyond what the start does."""


@pytest.mark.parametrize("more", [(), ("--deep",)])
def test_it_is_said_where_a_consumer_may_stop(more: tuple[str, ...], tmp_path: Path) -> None:
    dirs = two_dirs(tmp_path)
    log = sorted((dirs[0] / "t-0").glob("*.log"))[-2]
    size = log.stat().st_size
    os.truncate(log, LARGE)
    said = run("forecast", *dirs, "--json", "--kafka", "3.9.2", *more).json
    unknown = [each for each in said[-1]["unknown"] if log.name in each]
    effects = {each["effect"] for line in said if line["type"] == "partition" for each in line["effects"]}
    assert (not unknown, "reads-fail" in effects) == (bool(more), bool(more))
    for words in unknown:
        position = int(words.partition("past byte ")[2].partition(":")[0].replace(",", ""))
        assert size <= position <= size + (1 << 16)
