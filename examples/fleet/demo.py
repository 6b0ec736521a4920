"""Unpack the bundled fleet and audit it: `python3 bootstrap.py audit [--fresh] [options of fleet audit]`.

The fleet is hurt on purpose, so the audit ends with 4 (findings left); here that is success. It is unpacked
once, so that what you mend stays mended; --fresh brings the original back.
"""

from __future__ import annotations

import sys

from segmend.cli import interrupt

if __name__ == "__main__":
    interrupt.guard()  # what is imported below takes a moment

import shutil
from pathlib import Path

from segmend.cli.main import main as segmend
from segmend.cli.output import note
from segmend.errors import ExitCode

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FLEET = ROOT / "out" / "fleet"
sys.path.insert(0, str(ROOT))

from tests.golden.unpack import unpack  # noqa: E402  (the path comes first)


def main(arguments: list[str]) -> int:
    """Run the audit; returns 0 when it found what is wrong with the fleet."""
    fresh, options = "--fresh" in arguments, [each for each in arguments if each != "--fresh"]
    if fresh:
        shutil.rmtree(FLEET, ignore_errors=True)
    if FLEET.exists():
        note(f"auditing {FLEET} as it is now; `python3 bootstrap.py audit --fresh` brings the original back")
    else:
        note(f"unpacking three brokers' log dirs to {FLEET}")
        part = FLEET.with_name("fleet.part")
        shutil.rmtree(part, ignore_errors=True)
        unpack(HERE / "fleet.tar.xz", part)
        part.rename(FLEET)
    out = [] if "--out" in options else ["--out", str(ROOT / "fleet-report")]
    depth = [] if "--startup" in options else ["--deep"]
    code = segmend(["fleet", "audit", str(FLEET), *depth, *out, *options])
    return 0 if code == ExitCode.FINDINGS else code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
