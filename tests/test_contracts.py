"""Each layer contract, broken on purpose in a copy of the source, is seen and named."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# (contract's name begins with, file, the import that breaks it)
VIOLATIONS = [
    ("Data flows one way", "logdir/tree.py", "import segmend.findings"),
    ("Data flows one way", "report/text.py", "import segmend.cli.main"),
    ("Data flows one way", "undeclared.py", "import segmend.errors"),
    ("Topic decoders do not", "topics/metadata.py", "import segmend.topics.coordinators"),
    ("Commands do not", "cli/commands/show/command.py", "import segmend.cli.commands.check"),
    ("Formats and findings", "formats/batch.py", "import datetime"),
    ("Formats and findings", "findings.py", "import os"),
    ("The kernel is handed bytes", "kernel/scan.py", "import tempfile"),
    ("Checks look at the model", "checks/runner.py", "import shutil"),
    ("What looks at the model", "checks/runner.py", "import segmend.logdir.disk"),
    ("Arrow and numpy", "logdir/tree.py", "import numpy"),
    ("Only segmend.spark knows Spark", "fleet/schemas.py", "import pyspark"),
    ("A report is given values", "report/text.py", "import segmend.logdir.disk"),
    ("Data flows one way", "checks/runner.py", "import segmend.surgery.plan"),
    ("Data flows one way", "surgery/plan.py", "import segmend.fleet.plan"),
    ("Kinds of steps do not", "surgery/steps/cut_file.py", "import segmend.surgery.steps.make_dir"),
    ("Surgery changes a disk", "surgery/execute/run.py", "import shutil"),
    ("Only apply and undo reach", "surgery/ops/trim/operation.py", "import segmend.surgery.execute.apply"),
    ("Only the command line knows argparse", "surgery/options.py", "import argparse"),
    ("No cycles", "formats/damage.py", "import segmend.formats.batch"),
]


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("lint-imports")
    environment = {"PYTHONPATH": str(folder / "src"), "PATH": "/usr/bin:/bin", "COLUMNS": "200"}
    return subprocess.run(
        [str(program), "--no-cache"], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def copy_of_the_source(folder: Path) -> None:
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)


def test_the_source_keeps_every_contract(tmp_path: Path) -> None:
    copy_of_the_source(tmp_path)
    result = lint(tmp_path)
    assert result.returncode == 0, result.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("contract", "file", "line"), VIOLATIONS, ids=[f"{a[:12]}-{b}" for a, b, _ in VIOLATIONS]
)
def test_a_broken_contract_is_caught(tmp_path: Path, contract: str, file: str, line: str) -> None:
    copy_of_the_source(tmp_path)
    victim = tmp_path / "src" / "segmend" / file
    victim.write_text((victim.read_text() if victim.exists() else '"""New."""\n') + f"\n{line}\n")
    result = lint(tmp_path)
    assert result.returncode == 1
    broken = [row for row in result.stdout.splitlines() if row.startswith(contract) and "BROKEN" in row]
    assert broken, result.stdout
