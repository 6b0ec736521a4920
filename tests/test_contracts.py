"""Each layer contract, broken on purpose in a copy of the source, is seen and named."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# (contract's name begins with, file, the import that breaks it)
VIOLATIONS = [
    ("Data flows one way", "logdir/log_dir.py", "import segmend.findings"),
    ("Data flows one way", "report/text.py", "import segmend.cli.main"),
    ("Data flows one way", "undeclared.py", "import segmend.errors"),
    ("Topic decoders do not", "topics/metadata.py", "import segmend.topics.coordinators"),
    ("Commands do not", "cli/commands/show/command.py", "import segmend.cli.commands.check"),
    ("Formats and findings", "formats/batch.py", "import datetime"),
    ("Formats and findings", "findings.py", "import os"),
    ("The kernel is handed bytes", "kernel/scan.py", "import tempfile"),
    ("Checks look at the model", "checks/runner.py", "import shutil"),
    ("What looks at the model", "checks/runner.py", "import segmend.logdir.disk"),
    ("Arrow and numpy", "logdir/log_dir.py", "import numpy"),
    ("Only segmend.spark knows Spark", "fleet/schemas.py", "import pyspark"),
    ("A report is given values", "report/text.py", "import segmend.logdir.disk"),
    ("Data flows one way", "checks/runner.py", "import segmend.surgery.plan"),
    ("Data flows one way", "surgery/plan.py", "import segmend.fleet.plan"),
    ("Who looks at the dirs of several", "rescue/run.py", "import segmend.node.broker_dirs"),
    ("Operations do not know", "surgery/ops/trim/cuts.py", "import segmend.surgery.ops.graft.decision"),
    ("Kinds of steps do not", "surgery/steps/cut_file.py", "import segmend.surgery.steps.make_dir"),
    ("Surgery changes a disk", "surgery/execute/run.py", "import shutil"),
    ("Only apply and undo reach", "surgery/ops/trim/operation.py", "import segmend.surgery.execute.apply"),
    ("Only the command line knows argparse", "surgery/options.py", "import argparse"),
    ("No cycles", "formats/damage.py", "import segmend.formats.batch"),
]
OTHERWISE = {"undeclared.py": "- segmend.undeclared\n", "formats/damage.py": "- .damage -> .batch (1 import)"}


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


def sections(report: str) -> dict[str, str]:
    """What is said of each broken contract, by its name."""
    _, _, broken = report.partition("Broken contracts\n")
    titled = re.split(r"\n([^\n]+)\n-{5,}\n", broken)
    return dict(zip(titled[1::2], titled[2::2], strict=True))


def named(file: str, line: str) -> str:
    """How the report names that import; a module without a layer, or a cycle, it names in another way."""
    module = "segmend." + file.removesuffix(".py").replace("/", ".")
    imported = line.removeprefix("import ")
    return OTHERWISE.get(file, f" {module} -> {imported} (l.")


@pytest.mark.slow
def test_each_broken_contract_is_caught(tmp_path: Path) -> None:
    """All are broken at once: to read the whole source takes a second each time."""
    copy_of_the_source(tmp_path)
    for _, file, line in VIOLATIONS:
        victim = tmp_path / "src" / "segmend" / file
        victim.write_text((victim.read_text() if victim.exists() else '"""New."""\n') + f"\n{line}\n")
    result = lint(tmp_path)
    assert result.returncode == 1
    assert "Contracts: 0 kept, " in result.stdout, "a contract that nothing here breaks"
    said = sections(result.stdout)
    unseen = [
        (contract, file, line)
        for contract, file, line in VIOLATIONS
        if not any(title.startswith(contract) and named(file, line) in text for title, text in said.items())
    ]
    assert unseen == [], result.stdout
