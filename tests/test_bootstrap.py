"""`bootstrap.py`, with a pip that is none: what it says, in which order, and what it then becomes."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import bootstrap
import pytest

ROOT = Path(__file__).resolve().parent.parent

# In the place of the environment's Python: as pip it tells of a download, as all else how it was called.
PRETENDER = """#!{python}
import os, sys
words = sys.argv[1:]
if words[:2] == ["-m", "pip"]:
    if "-r" in words:
        print("Collecting pyspark==4.2.1 (from -r requirements/run.txt (line 889))")
        print("Progress 1000000 of 434000000")
        print("Progress 434000000 of 434000000")
        print("Installing collected packages: pyspark")
        {fails}
    sys.exit(0)
print("became:", *words)
print("called:", os.environ.get("SEGMEND_CALLED"))
"""


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The repository as one that has an environment already, but an old one."""
    for name in ("pyproject.toml", "hatch_build.py", "requirements", "examples", "bootstrap.py"):
        (tmp_path / name).symlink_to(ROOT / name)
    pretender(tmp_path)
    return tmp_path


def pretender(clone: Path, fails: str = "pass") -> None:
    python = clone / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True, exist_ok=True)
    python.write_text(PRETENDER.format(python=sys.executable, fails=fails))
    python.chmod(0o755)


def run(clone: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`bootstrap.py` of that clone, called from there."""
    script = (
        "import sys, bootstrap, os\n"
        f"bootstrap.HERE = {str(clone)!r}; bootstrap.VENV = {str(clone / '.venv')!r}\n"
        "bootstrap.PYTHON = bootstrap.VENV + '/bin/python'; sys.argv[0] = 'bootstrap.py'\n"
        "sys.exit(bootstrap.main(sys.argv[1:]))"
    )
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        cwd=clone,
        env={**os.environ, "PYTHONPATH": str(ROOT), "CI": "false"},  # CI=true runs all tests
    )


def test_each_step_of_the_set_up_has_a_line(clone: Path) -> None:
    first = run(clone, "segmend", "show", "x")
    assert first.stdout.splitlines() == [
        "became: -m segmend show x", "called: python3 bootstrap.py segmend"
    ]  # fmt: skip
    lines = first.stderr.splitlines()
    assert lines[0] == f"segmend: bringing {clone}/.venv up to date"
    assert [line.split(":")[1] for line in lines[1:4]] == [" 1 of 3", " 2 of 3", " 3 of 3"]
    assert "26 packages" in lines[2]
    assert lines[4].startswith("segmend: set up in ")
    assert run(clone, "segmend", "show", "x").stderr == ""  # once


def test_what_is_fetched_and_what_it_takes_is_said_before(
    clone: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bootstrap, "PYTHON", str(clone / "none"))
    monkeypatch.setattr(bootstrap, "HERE", str(clone))
    bootstrap.announce("run.txt")
    told = capsys.readouterr().err
    assert "once: 1.1 GB; up to 475 MB are fetched, and stay in pip's cache" in told
    monkeypatch.setattr(bootstrap, "SIZES", {"run.txt": (475, 10**12)})
    with pytest.raises(SystemExit) as stopped:
        bootstrap.announce("run.txt")
    assert stopped.value.code == 8
    assert "no room for that" in capsys.readouterr().err


def test_a_person_sees_how_far_pip_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    watcher = bootstrap.Watcher(23)
    assert not watcher.tells("Collecting pyspark==4.2.1 (from -r requirements/run.txt (line 889))")
    assert watcher.tells("Progress 100000000 of 434000000")
    assert not watcher.tells("ERROR: something else")
    watcher.wipe()
    assert "1 of 23: pyspark: 100 of 434 MB" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("ERROR: No matching distribution found for pyspark", "connect a network"),
        ("ERROR: the disk is full", "ERROR: the disk is full"),
    ],
)
def test_a_set_up_that_fails_is_told_in_a_line(clone: Path, words: str, said: str) -> None:
    pretender(clone, fails=f"print({words!r}); sys.exit(1)")
    ran = run(clone, "segmend")
    assert ran.returncode == 8
    assert said in ran.stderr.splitlines()[-1]
    assert not list((clone / ".venv").glob("*.stamp"))


def test_a_program_that_is_not_there_is_told(clone: Path) -> None:
    ran = run(clone, "tool", "nosuch")
    assert ran.returncode == 8
    assert "no program 'nosuch'" in ran.stderr


def test_no_place_for_files_is_told_in_a_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(tempfile, "_candidate_tempdir_list", lambda: ["/proc"])
    assert bootstrap.main(["test"]) == 8
    assert capsys.readouterr().err == (
        "segmend: tests need a place for their files: No usable temporary directory found in ['/proc']\n"
    )


def test_the_commands(clone: Path) -> None:
    assert run(clone).returncode == 16
    assert "bootstrap.py audit" in run(clone, "--help").stderr
    assert run(clone, "audit", "--deep").stdout.startswith(f"became: {clone}/examples/fleet/demo.py --deep\n")
    told = run(clone, "test", "tests/x").stdout.splitlines()
    assert told == ["became: -m pytest -n 2 tests/x", "called: None"]
