"""What is shown to be copied begins with words by which segmend can be called there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.cli.run import python

from segmend.cli import output


@pytest.mark.parametrize(
    ("argv", "orig", "on_path", "expected"),
    [
        (["/usr/local/bin/segmend"], ["python", "/usr/local/bin/segmend"], True, "segmend"),
        ([".venv/bin/segmend"], ["python", ".venv/bin/segmend"], False, ".venv/bin/segmend"),
        (["/opt/my tools/segmend"], ["python", "/opt/my tools/segmend"], False, "'/opt/my tools/segmend'"),
        (["/x/segmend/__main__.py"], ["python3", "-m", "segmend"], False, "python3 -m segmend"),
        (["/usr/bin/pytest"], ["python", "/usr/bin/pytest"], False, "segmend"),
    ],
)
def test_the_words_are_those_it_was_called_by(
    argv: list[str], orig: list[str], on_path: bool, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SEGMEND_CALLED", raising=False)
    monkeypatch.setattr(sys, "argv", argv)
    monkeypatch.setattr(sys, "orig_argv", orig)
    monkeypatch.setattr(output, "which", lambda _name: argv[0] if on_path else None)
    assert output.program() == expected


def test_who_calls_it_by_a_script_is_told_that(tmp_path: Path) -> None:
    partition = tmp_path / "orders-0"
    partition.mkdir()
    (partition / ("0" * 20 + ".log")).touch()
    (partition / ("0" * 20 + ".index")).write_bytes(b"x" * 5)
    called = "python3 bootstrap.py segmend"
    ran = python("-m", "segmend", "check", tmp_path, SEGMEND_CALLED=called)
    nexts = [line for line in ran.stdout.splitlines() if "next:" in line and "segmend" in line]
    assert nexts
    assert all(f"next:   {called} " in line for line in nexts)
    assert called not in python("-m", "segmend", "check", tmp_path, "--json", SEGMEND_CALLED=called).stdout
