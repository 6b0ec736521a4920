"""Compile the C kernel while the wheel is built; without a compiler the pure wheel does.

The compiler is `$SEGMEND_CC`, else the one in the `ziglang` wheel, else `cc`, else none.
The library is no extension module: one wheel serves every Python of a platform. An
editable install gets it beside the source, as does `python hatch_build.py`.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

try:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
except ImportError:  # run as a script, by a Python that builds no wheel
    BuildHookInterface = object

ROOT = Path(__file__).resolve().parent
SOURCES = ROOT / "src" / "segmend" / "kernel" / "c"
LIBRARY = ROOT / "src" / "segmend" / "_kernel.so"
FLAGS = ["-O3", "-std=c11", "-shared", "-fPIC", "-fvisibility=hidden", "-fno-strict-aliasing", "-s"]
GLIBC = "2.17"


def zig() -> list[str] | None:
    """The C compiler of the ziglang wheel, told to build for any CPU and for old systems."""
    if importlib.util.find_spec("ziglang") is None:
        return None
    command = [sys.executable, "-m", "ziglang", "cc", "-mcpu=baseline", "-fno-sanitize=undefined"]
    machine = {"arm64": "aarch64"}.get(platform.machine(), platform.machine())
    if sys.platform == "linux" and platform.libc_ver()[0] == "glibc":
        command += ["-target", f"{machine}-linux-gnu.{GLIBC}"]
    return command


def compilers() -> list[list[str]]:
    """Commands to try, best first."""
    chosen = os.environ.get("SEGMEND_CC")
    if chosen:
        return [shlex.split(chosen)]
    found = [zig(), [shutil.which("cc") or ""]]
    return [command for command in found if command and command[0]]


def compile_kernel(target: Path = LIBRARY) -> str:
    """Build the library; returns "" or, if no compiler could, why."""
    errors = []
    for command in compilers():
        scratch = target.with_suffix(f".{os.getpid()}")
        sources = [str(path) for path in sorted(SOURCES.glob("*.c"))]
        full = [*command, *FLAGS, *sources, "-o", str(scratch)]
        done = subprocess.run(full, capture_output=True, text=True)
        if done.returncode == 0:
            scratch.replace(target)
            return ""
        scratch.unlink(missing_ok=True)
        errors.append(f"{shlex.join(command)}: {(done.stderr.strip() or 'failed').splitlines()[-1]}")
    return "; ".join(errors) or "no C compiler was found"


def wheel_tag() -> str:
    """Any Python 3, this platform."""
    machine = platform.machine()
    if sys.platform == "linux" and platform.libc_ver()[0] == "glibc":
        return f"py3-none-manylinux_{GLIBC.replace('.', '_')}_{machine}"
    from packaging.tags import platform_tags  # a dependency of hatchling; needed on other systems only

    return f"py3-none-{next(iter(platform_tags()))}"


class KernelBuildHook(BuildHookInterface):  # type: ignore[misc]
    """Puts the library into the wheel, or beside the source of an editable install."""

    PLUGIN_NAME = "custom"

    def initialize(self, _version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it collects files."""
        why = compile_kernel()
        if why:
            LIBRARY.unlink(missing_ok=True)
            self.app.display_warning(f"segmend is installed without its fast kernel: {why}")
            return
        build_data["pure_python"] = False
        build_data["tag"] = wheel_tag()
        build_data["artifacts"].append(f"/{LIBRARY.relative_to(ROOT)}")


if __name__ == "__main__":
    problem = compile_kernel()
    print(problem or f"built {LIBRARY.relative_to(ROOT)}")
    sys.exit(1 if problem else 0)
