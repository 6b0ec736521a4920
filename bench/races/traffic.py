"""How often files are opened, and how much of them is read: by a check, on damage, and for a plan.

Counted in this process (`tests.traffic`), so it needs no quiet machine.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
from pathlib import Path

from tests.faults.on_disk import flip
from tests.golden.unpack import unpack
from tests.traffic import counted

from bench.data import KIB, log_dir
from bench.races.startup import GOLDEN
from bench.scale import Scale
from segmend.cli.main import main

_LOG_BYTES = 64 << 20


def run(scale: Scale) -> None:
    """Everything made anew: some of it is hurt, and of what was read before this process remembers much."""
    folder = scale.folder / "traffic"
    shutil.rmtree(folder, ignore_errors=True)
    print("\n## files opened and bytes read\n")
    print("| what | of files | opened | times at most | bytes read | of all bytes |")
    print("|---|--:|--:|--:|--:|--:|")
    for number, command in enumerate(("check", "check --deep", "forecast")):
        _show(f"{command}, golden 4.3.1", command, _golden(folder / str(number)))
    whole = _golden(folder / "repair")
    min(whole[0].rglob("*.index")).unlink()
    _show("plan repair, golden 4.3.1 without one index", "plan repair", whole)
    log = log_dir(folder / "large", KIB, total_bytes=_LOG_BYTES, segments=1)[0]
    for at in (_LOG_BYTES // 3, _LOG_BYTES // 2):
        flip(log, at)
    _show("check --deep, two bad CRCs in 64 MiB (at most 2.0)", "check --deep", [folder / "large"], log)


def _golden(folder: Path) -> list[Path]:
    return sorted({path.parent for path in unpack(GOLDEN, folder).rglob("meta.properties")})


def _show(what: str, command: str, dirs: list[Path], only: Path | None = None) -> None:
    """What is opened besides the files of the dirs is Python's own."""
    with counted() as traffic, contextlib.redirect_stdout(io.StringIO()):
        main([*command.split(), *map(str, dirs)])
    paths = [path for each in dirs for path in each.rglob("*") if path.is_file()]
    files = [str(path) for path in paths if only in (None, path)]
    opened = [traffic.opens[path] for path in files if traffic.opens[path]]
    read = sum(traffic.read[path] for path in files)
    share = read / sum(map(os.path.getsize, files))
    print(f"| {what} | {len(opened)} | {sum(opened)} | {max(opened)} | {read:,} | {share:.2f} |", flush=True)
