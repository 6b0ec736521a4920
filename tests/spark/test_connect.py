"""The data source, `scan`, `summarize` and the audit through a server of Spark Connect."""

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.fleet.build import three_brokers
from tests.fleet.written import table_rows
from tests.spark.standalone import SECONDS, connect_server
from tests.spark.test_left_out import READ, TOLD, damaged_fleet, told_of

from segmend.fleet.audit import AuditRequest, audit
from segmend.fleet.driver import LocalDriver

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(500)]


def test_a_client_sees_what_is_there_without_spark(tmp_path: Path) -> None:
    if find_spec("grpc") is None:
        pytest.skip("Spark Connect needs grpcio")
    fleet, out = str(three_brokers(tmp_path / "fleet")), tmp_path / "out"
    audit(AuditRequest(paths=(fleet,), out=str(tmp_path / "local")), LocalDriver(1))
    with connect_server(tmp_path) as address:
        command = [sys.executable, "-m", "tests.spark.connect_client", address, fleet, str(out)]
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
