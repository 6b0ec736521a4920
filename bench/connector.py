"""Spark's own Kafka source, spark-sql-kafka: its jars, fetched once by the Ivy inside PySpark, one by one.

A resolution of the whole would ask for a token provider of its own release, which not every mirror has.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from tests.lab.jars import COMPLETE, cache_dir, ivy_jar
from tests.lab.java import find_java

_JARS = (
    ("org.apache.spark", "spark-sql-kafka-0-10_2.13", "4.2.0"),
    ("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", "4.0.0"),
    ("org.apache.kafka", "kafka-clients", "3.9.2"),
    ("org.apache.commons", "commons-pool2", "2.13.1"),
)


def connector() -> str:
    """The jars, as `spark.jars` takes them."""
    home = cache_dir() / f"spark-sql-kafka-{_JARS[0][2]}"
    if not (home / COMPLETE).exists():
        _fetch(home)
        (home / COMPLETE).touch()
    return ",".join(map(str, sorted(home.glob("*.jar"))))


def _fetch(home: Path) -> None:
    rows = "".join(
        f'<dependency org="{org}" name="{name}" rev="{rev}" conf="default->default" transitive="false"/>'
        for org, name, rev in _JARS
    )
    with tempfile.TemporaryDirectory() as scratch:
        asked = Path(scratch) / "ivy.xml"
        asked.write_text(
            '<ivy-module version="2.0"><info organisation="segmend" module="bench"/>'
            f'<configurations><conf name="default"/></configurations><dependencies>{rows}</dependencies>'
            "</ivy-module>"
        )
        where = [*("-cache", cache_dir() / "ivy"), "-retrieve", home / "[artifact]-[revision].[ext]"]
        subprocess.run(
            [find_java(), "-jar", ivy_jar(), "-ivy", asked, "-confs", "default", "-types", "jar", *where],
            check=True,
            stdout=subprocess.DEVNULL,
            timeout=300,
        )
