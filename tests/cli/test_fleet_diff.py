"""`segmend fleet diff` gives the lines of `segmend diff`, made in tasks."""

import errno
import json
from pathlib import Path

import pytest
from tests.cli.run import run
from tests.faults.on_disk import flip
from tests.fleet.build import three_brokers
from tests.fleet.test_audit import refuse

from segmend.errors import SegmendError
from segmend.fleet.driver import LocalDriver
from segmend.fleet.listing import Place


def lines(out: str) -> list[object]:
    return [each for each in map(json.loads, out.splitlines()) if each["type"] != "summary"]


def test_it_says_what_diff_says(tmp_path: Path) -> None:
    root = three_brokers(tmp_path / "fleet")
    hurt = sorted((root / "b2").rglob("orders-1/*.log"))[1]
    flip(hurt, -1)
    dirs = sorted(path.parent for path in root.rglob("meta.properties"))
    alone = run("diff", *dirs, "--json")
    fleet = run("fleet", "diff", root, "--driver", "local", "--json")
    assert (alone.code, fleet.code) == (4, 4)
    assert lines(fleet.out) == lines(alone.out)
    told = run("fleet", "diff", root, "--driver", "local", "--topic", "orders").out
    assert "orders-1" in told
    assert "damaged" in told


def test_a_path_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    ran = run("fleet", "diff", tmp_path / "none", "--driver", "local")
    assert (ran.code, ran.out) == (8, "")
    assert "no such directory" in ran.err


def test_what_could_not_be_listed_is_no_all_clear(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = three_brokers(tmp_path / "fleet")
    refuse(monkeypatch, "b3/data", errno.EACCES)
    ran = run("fleet", "diff", root, "--driver", "local", code=8)
    assert "b3/data" in ran.err
    assert "its replicas are not compared" in ran.err


@pytest.mark.parametrize("command", [("diff",), ("rescue", "--as", "jsonl", "--out", "OUT")])
def test_workers_are_asked_what_they_see_before_they_read(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other_disks(_: object, places: list[Place], out: str | None = None) -> None:
        assert len(places) == 3
        assert out == (str(tmp_path / "out") if "rescue" in command else None)
        raise SegmendError("a worker has other dirs there")

    monkeypatch.setattr(LocalDriver, "ready", other_disks)
    monkeypatch.setattr(LocalDriver, "run", lambda *_: pytest.fail("a task ran"))
    words = [str(tmp_path / "out") if word == "OUT" else word for word in command]
    ran = run("fleet", *words, three_brokers(tmp_path / "fleet"), "--driver", "local", code=8)
    assert ran.err.endswith("a worker has other dirs there\n")
