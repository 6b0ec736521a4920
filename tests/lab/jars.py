"""Fetch the jars of a Kafka release once, through the Ivy that PySpark carries.

No Maven, no archive download: `pip install pyspark` is enough. The jars go to
`~/.cache/segmend/kafka-<version>/` (`SEGMEND_CACHE` moves it); a marker file written last says that
the set is complete, so an interrupted fetch is simply repeated, and jars with two kinds of
logging, as they once were, are fetched anew.
"""

import fcntl
import importlib.util
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.lab.errors import LabError
from tests.lab.java import build_of, find_java
from tests.lab.releases import Release

COMPLETE = ".complete"


def cache_dir() -> Path:
    """Where jars are kept."""
    return Path(os.environ.get("SEGMEND_CACHE") or Path.home() / ".cache" / "segmend")


def ivy_jar() -> Path:
    """PySpark's ivy jar, found without importing pyspark."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise LabError("Kafka's jars are fetched by the Ivy inside PySpark: `pip install pyspark`")
    found = sorted((Path(spec.origin).parent / "jars").glob("ivy-*.jar"))
    if not found:
        raise LabError(f"no ivy jar in {Path(spec.origin).parent / 'jars'}: reinstall pyspark")
    return found[-1]


def ivy_file(release: Release) -> str:
    """The module description that asks Ivy for all of a release's coordinates in one resolution.

    Only Kafka Connect's tools need `connect-*`; those of 4.0.1 are not always to be had.
    """
    rows = "".join(
        f'<dependency org="{org}" name="{name}" rev="{rev}" conf="default->default"/>'
        for org, name, rev in release.coordinates
    )
    return (
        '<ivy-module version="2.0"><info organisation="segmend" module="lab"/>'
        '<configurations><conf name="default"/></configurations>'
        f'<dependencies>{rows}<exclude org="org.apache.kafka" module="connect-.*" matcher="regexp"/>'
        "</dependencies></ivy-module>"
    )


def resolve(text: str, into: Path) -> subprocess.CompletedProcess[str]:
    """Let Ivy copy all jars that the module description `text` asks for into a folder."""
    with tempfile.TemporaryDirectory() as scratch:
        description = Path(scratch) / "ivy.xml"
        description.write_text(text)
        command: list[str | Path] = [
            *(find_java(), "-jar", ivy_jar(), "-ivy", description, "-confs", "default"),
            *("-types", "jar", "bundle", "-cache", cache_dir() / "ivy"),
            *("-retrieve", into / "[artifact]-[revision](-[classifier]).[ext]"),
        ]
        return subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)


def fetch(release: Release, into: Path) -> None:
    """Resolve and copy the jars; raises LabError with Ivy's own last words."""
    done = resolve(ivy_file(release), into)
    if done.returncode != 0 or not list(into.glob("kafka_*.jar")):
        problems = [
            line.strip() for line in done.stdout.splitlines() if "not found" in line or "ERROR" in line
        ]
        last = problems[0] if problems else (done.stderr.strip().splitlines() or ["no output"])[-1]
        raise LabError(f"could not fetch Kafka {release.version} ({last}); is the network there?")


def is_complete(home: Path) -> bool:
    """Whether all jars of a release are there, and one logging: of two, the order of listing decides."""
    both = all(any(home.glob(name)) for name in ("log4j-1.2.*.jar", "reload4j-*.jar"))
    return (home / COMPLETE).exists() and not both


def jars(release: Release) -> Path:
    """The directory with all jars of the release, fetched now if it is not there yet."""
    home = cache_dir() / f"kafka-{release.version}"
    if is_complete(home):
        return home
    home.parent.mkdir(parents=True, exist_ok=True)
    with open(cache_dir() / "fetch.lock", "w") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        if not is_complete(home):
            part = home.with_name(f"{home.name}.part")
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            fetch(release, part)
            (part / COMPLETE).touch()
            archive(release).unlink(missing_ok=True)  # of the jars that were there
            shutil.rmtree(home, ignore_errors=True)
            part.rename(home)
    return home


def archive(release: Release) -> Path:
    """Where the classes of that release are kept as a broker has loaded them (`cluster.share_classes`)."""
    return cache_dir() / f"kafka-{release.version}-{build_of(find_java())}.jsa"
