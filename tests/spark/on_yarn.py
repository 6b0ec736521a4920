"""The audit on YARN with plain workers, of a fleet in HDFS: the tables of a run without Spark.

Minutes, and a hundred seconds of CPU: `python -m tests.sweep fleet` has it, CI has a standalone cluster.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fleet.build import plain, write_broker
from tests.fleet.written import table_rows
from tests.lab.java import find_javac
from tests.spark.hadoop import SPARKS, hadoop
from tests.spark.standalone import LIGHT, SECONDS, bare_python

from segmend.errors import SegmendError
from segmend.fleet.audit import AuditRequest, audit
from segmend.fleet.driver import LocalDriver
from segmend.fleet.remote import files_of, forget, store_of
from segmend.fleet.schemas import AUDIT_TABLES

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("cluster"),
]


def test_an_audit_on_yarn_of_a_fleet_in_hdfs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """OUT is a directory first, and in HDFS then: one session, whose executors are brought all they need."""
    if find_javac() is None:
        pytest.skip("Hadoop's mini cluster is started from its source: it needs a JDK with javac")
    disk, bare = tmp_path / "fleet", bare_python(tmp_path / "bare")
    for broker in (1, 2):
        write_broker(disk, broker, [plain("t", 0, batches=30), plain("t", 1, batches=4)])
    (disk / "b2/data/t-1/00000000000000000000.timeindex").unlink()
    with hadoop(tmp_path / "hadoop") as conf:
        monkeypatch.setenv("HADOOP_CONF_DIR", str(conf))
        forget()
        _looked_at(disk, "hdfs:///fleet")
        audit(AuditRequest(paths=("hdfs:///fleet",), out=str(tmp_path / "local")), LocalDriver(1))
        outs = (str(tmp_path / "out"), "hdfs:///reports/out")
        _audits_on_yarn(bare, str(tmp_path / "cache"), "hdfs:///fleet", *outs)
        for out in outs:
            for name in AUDIT_TABLES:
                # The time of a run is never the same twice.
                if name != "runs":
                    assert table_rows(out, name) == table_rows(tmp_path / "local", name), name
    forget()


def _looked_at(disk: Path, url: str) -> None:
    """The same files, with an empty directory among them."""
    store = store_of(url)
    for file in sorted(path for path in disk.rglob("*") if path.is_file()):
        store.put(f"{url}/{file.relative_to(disk)}", file.read_bytes())
    store.put(f"{url}/b1/none/gone", b"")
    store.remove(f"{url}/b1/none/gone")
    forget()
    files = files_of(url)
    assert files.listing(f"{url}/b1/none") == {}
    assert files.path_type(f"{url}/b1/none") == "dir"
    assert files.path_type(f"{url}/b1/nothing") is None
    log = disk / "b1/data/t-0/00000000000000000000.log"
    with files.open(f"{url}/{log.relative_to(disk)}") as reader:
        assert reader.read(1 << 20) == log.read_bytes()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HADOOP_USER_NAME", "nobody")
        forget()
        with pytest.raises(SegmendError, match="permission denied"):
            store_of(url).put(f"{url}/mine", b"")
    forget()


def _audits_on_yarn(python: Path, cache: str, *paths: str) -> None:
    settings = {
        "spark.executor.instances": "1",
        "spark.executor.cores": "2",
        "spark.executor.memory": "512m",
        "spark.driver.extraJavaOptions": LIGHT,
        "spark.executor.extraJavaOptions": LIGHT,
        "spark.yarn.am.extraJavaOptions": LIGHT,
        "spark.ui.enabled": "false",
        # Else they are packed and sent there anew each time.
        "spark.yarn.jars": f"local:{SPARKS}/*",
    }
    conf = " ".join(f'--conf "{name}={value}"' for name, value in settings.items())
    environ = {
        "PYSPARK_PYTHON": str(python),
        "PYSPARK_SUBMIT_ARGS": f"{conf} pyspark-shell",
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.cluster_audits", "yarn", cache, *paths],
        input="\n" * len(paths), capture_output=True, text=True, timeout=SECONDS, check=False,
        env=os.environ | environ,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
