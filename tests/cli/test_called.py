"""What is shown to be copied begins with words by which segmend can be called there."""

import sys
from pathlib import Path

import pytest
from tests.cli.run import python

from segmend.cli import output


@pytest.mark.parametrize(
    ("name", "orig", "expected"),
    [
        ("{path}/segmend", ["python", "/usr/local/bin/segmend"], "segmend"),
        (".venv/bin/segmend", ["python", ".venv/bin/segmend"], ".venv/bin/segmend"),
        ("/opt/my tools/segmend", ["python", "/opt/my tools/segmend"], "'/opt/my tools/segmend'"),
        ("/x/segmend/__main__.py", ["python3", "-m", "segmend"], "python3 -m segmend"),
        ("/usr/bin/pytest", ["python", "/usr/bin/pytest"], "segmend"),
    ],
)
def test_the_words_are_those_it_was_called_by(
    name: str, orig: list[str], expected: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_path = tmp_path / "segmend"
    on_path.touch(0o755)
    monkeypatch.setenv("PATH", f"/usr/bin:{tmp_path}")
    monkeypatch.delenv("SEGMEND_CALLED", raising=False)
    monkeypatch.setattr(sys, "argv", [name.format(path=tmp_path)])
    monkeypatch.setattr(sys, "orig_argv", orig)
    assert output.program() == expected


@pytest.mark.slow
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
