"""`segmend fleet diff` gives the lines of `segmend diff`, made in tasks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.fleet.build import three_brokers


def lines(out: str) -> list[object]:
    return [each for each in map(json.loads, out.splitlines()) if each["type"] != "summary"]


def test_it_says_what_diff_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = three_brokers(tmp_path / "fleet")
    hurt = sorted((root / "b2").rglob("orders-1/*.log"))[1]
    data = bytearray(hurt.read_bytes())
    data[-1] ^= 1
    hurt.write_bytes(data)
    dirs = sorted(path.parent for path in root.rglob("meta.properties"))
    alone = run(capsys, "diff", *dirs, "--json")
    fleet = run(capsys, "fleet", "diff", root, "--driver", "local", "--json")
    assert (alone.code, fleet.code) == (4, 4)
    assert lines(fleet.out) == lines(alone.out)
    told = run(capsys, "fleet", "diff", root, "--driver", "local", "--topic", "orders").out
    assert "orders-1" in told
    assert "damaged" in told


def test_a_dir_that_cannot_be_listed_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = run(capsys, "fleet", "diff", tmp_path / "none", "--driver", "local")
    assert (ran.code, ran.out) == (8, "")
    assert "no such directory" in ran.err
