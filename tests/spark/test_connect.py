"""The data source, `scan`, `summarize` and the audit through a server of Spark Connect."""

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.fleet.build import three_brokers
from tests.fleet.written import table_rows
from tests.spark.standalone import SECONDS, Daemons, light
from tests.spark.test_left_out import READ, TOLD, damaged_fleet, told_of

from segmend.fleet.audit import AuditRequest, audit
from segmend.fleet.driver import LocalDriver

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(500)]


def test_a_client_sees_what_is_there_without_spark(tmp_path: Path) -> None:
    if find_spec("grpc") is None:
        pytest.skip("Spark Connect needs grpcio")
    fleet, out = str(three_brokers(tmp_path / "fleet")), tmp_path / "out"
    audit(AuditRequest(paths=(fleet,), out=str(tmp_path / "local")), LocalDriver(1))
    with ExitStack() as stack:
        ours = {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        daemons = Daemons(tmp_path, ours, stack)
        address = {"port": "0", "address": "127.0.0.1"}
        conf = [f"spark.connect.grpc.binding.{name}={value}" for name, value in address.items()]
        daemons.start(
            "connect", "spark-submit", "--master", "local[2]", "--driver-java-options", light(),
            *(each for name in (*conf, "spark.ui.enabled=false") for each in ("--conf", name)),
            "--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal",
            SPARK_DAEMON_MEMORY="1g",
        )  # fmt: skip
        port = daemons.told("connect", r"Spark Connect server started at: \S+:(\d+)")
        command = [
            sys.executable,
            "-m",
            "tests.spark.connect_client",
            f"sc://127.0.0.1:{port}",
            fleet,
            str(out),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
        command[2:] = [
            "tests.spark.damaged_read",
            command[3],
            str(tmp_path),
            str(damaged_fleet(tmp_path / "hurt")),
        ]
        hurt = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert (hurt.returncode, hurt.stdout) == (0, READ), hurt.stderr
    assert told_of(hurt.stderr) == [TOLD, TOLD]
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "session": "pyspark.sql.connect.session",
        "records": 480,
        "scan": 120,
        "summary": [{"records": 480}],
        "exit": 0,
    }
    for name in ("segments", "replicas", "findings", "digests"):
        assert table_rows(out, name) == table_rows(tmp_path / "local", name), name
