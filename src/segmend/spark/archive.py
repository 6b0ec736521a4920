"""An archive of Spark's classes (AppCDS, JEP 350): with it a session starts in half the time.

Writing it costs a JVM some ten seconds, so nobody waits for it: after the first run on a
machine a process of its own, at low priority, starts Spark once more, does a little of
everything an audit does, and leaves the archive in the cache directory. A JVM heeds it, in silence, only
where Spark's classes lie as they lay then, and Java is the very same: each installation has its own.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from pathlib import Path

import pyspark

from segmend.spark.java import Java

MODULE = "segmend.spark.archiver"
_KEPT = 3
"""Each has 150 MB; who has more installations of Spark than this does without in some."""


def archive_file(java: Java, folder: Path) -> Path:
    """Where the archive of this Java and this Spark lies, or will lie."""
    parts = [java.home, Path(pyspark.__file__).parent]
    release = java.home / "release"
    told = "\n".join([*map(str, parts), release.read_text(errors="replace") if release.exists() else ""])
    return folder / f"java{java.version}-spark{pyspark.__version__}-{zlib.crc32(told.encode()):08x}.jsa"


def keep_newest(folder: Path) -> None:
    """Drop archives of other installations, but for the newest; who uses one still has it."""
    for old in sorted(folder.glob("java*-spark*.jsa"), key=lambda file: -file.stat().st_mtime_ns)[_KEPT:]:
        old.unlink(missing_ok=True)


def options_with(java: Java, folder: Path) -> list[str]:
    """JVM options that use the archive, if it is there."""
    file = archive_file(java, folder)
    quiet = ["-Xshare:auto", "-Xlog:disable", "-Xlog:all=error:stderr"]
    return [f"-XX:SharedArchiveFile={file}", *quiet] if file.exists() else []


def is_wanted(java: Java, folder: Path) -> bool:
    """Whether there is none yet. A Java without an archive of its own classes (the wheel's) cannot."""
    return (java.home / "lib" / "server" / "classes.jsa").exists() and not archive_file(java, folder).exists()


def archive_later(java: Java, folder: Path) -> None:
    """Make the archive in the background; tried once a Java and Spark."""
    try:
        archive_file(java, folder).with_suffix(".started").touch(exist_ok=False)
    except OSError:
        return
    nothing = subprocess.DEVNULL
    archiver = subprocess.Popen(
        [sys.executable, "-m", MODULE, str(folder)],
        stdin=nothing,
        stdout=nothing,
        stderr=nothing,
        env=os.environ | {"JAVA_HOME": str(java.home)},
        start_new_session=True,
    )
    # Nobody waits for it.
    os.setpriority(os.PRIO_PROCESS, archiver.pid, 19)
