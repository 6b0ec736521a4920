"""`examples/pipeline` as its README says: two tables, every record once though a replica is hurt."""

import os
import shutil
import subprocess
import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pyarrow.dataset as ds
import pyspark
import pytest
from tests.faults.on_disk import flip
from tests.fleet.build import three_brokers
from tests.spark.standalone import light

from segmend.spark.java import find_java

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(500)]
EXAMPLE = Path(__file__).parents[2] / "examples" / "pipeline"


def made(home: Path) -> dict[str, list[dict[str, object]]]:
    """Run the pipeline there, and read its tables."""
    environ = {
        **os.environ,
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "JAVA_HOME": str(find_java(os.environ).home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "JDK_JAVA_OPTIONS": light(),  # each JVM that is started here heeds it
    }
    pipelines = f"{environ['SPARK_HOME']}/bin/spark-pipelines"
    small = ("--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=2")
    command = [pipelines, "run", "--spec", "spark-pipeline.yml", *small]
    done = subprocess.run(
        command, cwd=home, env=environ, capture_output=True, text=True, timeout=400, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    warehouse = home / "spark-warehouse"
    return {
        name: ds.dataset(warehouse / name, format="parquet", partitioning="hive").to_table().to_pylist()
        for name in ("records", "per_day")
    }


def test_two_tables_are_made_out_of_a_hurt_cluster(tmp_path: Path) -> None:
    if find_spec("grpc") is None or find_spec("yaml") is None:
        pytest.skip("Declarative Pipelines need pyspark[pipelines]")
    fleet = three_brokers(tmp_path / "brokers")
    for log in (fleet / "b2/data/orders-0").glob("*.log"):
        flip(log, 100)
    home = tmp_path / "pipeline"
    shutil.copytree(EXAMPLE, home)
    spec = home / "spark-pipeline.yml"
    text = spec.read_text().replace("/brokers/", f"{fleet}/").replace("file:///tmp/", f"file://{tmp_path}/")
    spec.write_text(text)
    tables = made(home)
    found = Counter((row["topic"], row["partition"], row["offset"]) for row in tables["records"])
    assert found == Counter(("orders", number, offset) for number in (0, 1) for offset in range(120))
    assert [(row["topic"], row["records"]) for row in tables["per_day"]] == [("orders", 240)]
