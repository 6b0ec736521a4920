"""YARN and HDFS of Hadoop's own mini cluster: resource and node manager, name and data node on loopback.

The jars (65 MB, once) are fetched by the Ivy inside PySpark, of the release whose client PySpark carries.
"""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark
from tests.lab.jars import COMPLETE, cache_dir, resolve
from tests.lab.java import find_java, find_javac

SPARKS = Path(pyspark.__file__).parent / "jars"
_BESIDE = (
    ("org.junit.jupiter", "junit-jupiter-api", "5.11.4"),
    ("org.bouncycastle", "bcpkix-jdk18on", "1.80"),
)
"""What the mini cluster needs and does not carry."""


@contextmanager
def hadoop(home: Path) -> Iterator[Path]:
    """The HADOOP_CONF_DIR of a cluster that lives in `home` until the block ends."""
    (home / "conf").mkdir(parents=True)
    shared = ("hadoop-client-", "slf4j-api", "log4j-", "jcl-over")
    path = [f"{_jars()}/*", *(str(jar) for each in shared for jar in SPARKS.glob(f"{each}*.jar"))]
    light = ("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
    source = Path(__file__).with_name("MiniHadoop.java")
    compiler = [str(find_javac()), "-nowarn", "-cp", os.pathsep.join(path), "-d", str(home), str(source)]
    subprocess.run(compiler, check=True)
    command = [str(find_java()), *light, "-cp", os.pathsep.join([str(home), *path]), source.stem, str(home)]
    with (
        open(home / "log", "wb") as log,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log) as server,
    ):
        try:
            assert server.stdout is not None
            told = server.stdout.readline()
            assert told == b"ready\n", (home / "log").read_text(errors="replace")[-4000:]
            yield home / "conf"
        finally:
            server.kill()


def _jars() -> Path:
    version = next(SPARKS.glob("hadoop-client-api-*.jar")).stem.removeprefix("hadoop-client-api-")
    home = cache_dir() / f"hadoop-{version}"
    if not (home / COMPLETE).exists():
        rows = f'<dependency org="org.apache.hadoop" name="hadoop-client-minicluster" rev="{version}" '
        rows += 'conf="default->default" transitive="false"/>'
        for org, name, rev in _BESIDE:
            rows += f'<dependency org="{org}" name="{name}" rev="{rev}" conf="default->default"/>'
        done = resolve(
            '<ivy-module version="2.0"><info organisation="segmend" module="hadoop"/><configurations>'
            f'<conf name="default"/></configurations><dependencies>{rows}</dependencies></ivy-module>',
            home,
        )
        assert done.returncode == 0, done.stdout[-2000:]
        (home / COMPLETE).touch()
    return home
