"""Unpack the bundled fleet and audit it: `python3 bootstrap.py audit [options of fleet audit]`.

The fleet is hurt on purpose, so the audit ends with 4 (findings left); here that is success.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT))

from tests.golden.unpack import unpack  # noqa: E402  (the path comes first)

from segmend.errors import ExitCode  # noqa: E402


def main(arguments: list[str]) -> int:
    """Run the audit; returns 0 when it found what is wrong with the fleet."""
    fleet = ROOT / "out" / "fleet"
    shutil.rmtree(fleet, ignore_errors=True)
    unpack(HERE / "fleet.tar.xz", fleet)
    out = [] if "--out" in arguments else ["--out", str(ROOT / "fleet-report")]
    depth = [] if "--startup" in arguments else ["--deep"]
    command = [sys.executable, "-m", "segmend", "fleet", "audit", str(fleet), *depth, *out, *arguments]
    code = subprocess.call(command)
    return 0 if code == ExitCode.FINDINGS else code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
