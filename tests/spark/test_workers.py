"""What workers lack, do not see or do not share is one line, before anything is written."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from tests.fleet.build import plain, write_broker

import segmend.spark
from segmend.errors import SegmendError, UsageError
from segmend.fleet.listing import find_places
from segmend.spark import workers
from segmend.spark.session import _start
from segmend.spark.workers import make_ready

pytestmark = pytest.mark.spark


def test_the_question_finds_what_is_not_the_same_there(tmp_path: Path) -> None:
    """Asked here, of a worker that has other disks under the same names."""
    there, out = write_broker(tmp_path, 1, [plain("t", 0)]), tmp_path / "out"
    out.mkdir()
    (out / ".segmend-probe-x").write_text("x")
    dirs = {str(there): (there / "meta.properties").read_text(), str(tmp_path / "gone"): None}
    told = json.loads(workers._question(("json", "nopackage"), dirs, str(out), "x")(0))
    assert (told["lacks"], told["unseen"]) == (["nopackage"], [str(tmp_path / "gone")])
    assert (out / told["mark"]).exists()
    assert json.loads(workers._question((), {str(there): "another"}, None, "x")(0))["unseen"] == [str(there)]
    (out / ".segmend-probe-x").unlink()
    told = json.loads(workers._question((), {}, str(out), "x")(0))
    assert told["refusal"] == "does not see what the driver writes there"


def test_what_was_packed_by_another_python_is_lacking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, suffix in (("ours", EXTENSION_SUFFIXES[0]), ("theirs", ".cpython-39-x86_64-linux-gnu.so")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
        (tmp_path / name / f"lib{suffix}").touch()
        (tmp_path / name / f"lib{suffix}.1").touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert json.loads(workers._question(("ours", "theirs"), {}, None, "x")(0))["lacks"] == ["theirs"]


def test_workers_are_asked_before_anything_is_written(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_broker(tmp_path, 1, [plain("t", 0)])
    places, out = find_places([str(tmp_path)]), tmp_path / "out"
    out.mkdir()
    monkeypatch.setattr(workers, "is_local", lambda _: False)
    make_ready(spark, places, str(out))
    monkeypatch.setattr(workers, "MODULES", ("pyarrow", "nopackage"))
    with pytest.raises(SegmendError, match="lacks nopackage: hand the archive of `segmend fleet pack`,"):
        make_ready(spark, places, str(out))
    monkeypatch.setattr(workers, "MODULES", ())
    monkeypatch.setattr(workers, "_identity", lambda _: "another disk")
    with pytest.raises(SegmendError, match=r"does not see .*b1/data as it is here"):
        make_ready(spark, places, None)
    monkeypatch.setattr(workers, "_identity", lambda path: (Path(path) / "meta.properties").read_text())
    monkeypatch.setattr(workers, "_write", lambda _out, _token: None)
    with pytest.raises(SegmendError, match="does not see what the driver writes there; give a directory"):
        make_ready(spark, places, str(out))
    assert list(out.iterdir()) == []


def test_a_python_that_dies_at_once_is_a_line(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Java tells of it, in hundreds of lines."""
    monkeypatch.setattr(workers, "_question", lambda *_: lambda _number: os.kill(os.getpid(), 9))
    with pytest.raises(SegmendError, match="the workers cannot run Python: Job aborted") as error:
        workers.ask_workers(spark, {}, None, "x")
    assert "\n" not in str(error.value)


def test_a_python_of_another_version_is_a_line() -> None:
    said = "Python in worker has different version: 3.9 than that in driver: 3.11, PySpark cannot run"
    assert workers._not_started(said).startswith("a worker runs Python 3.9, the driver 3.11: set PYSPARK")


def test_what_a_python_says_that_does_not_start_is_the_line() -> None:
    said = """Job aborted due to stage failure: Lost task 0.3 in stage 0.0: org.apache.spark.SparkException:
    Error from python worker:
      File "daemon.py", line 127, in manager
      OSError: AF_UNIX path too long
    PYTHONPATH was: a:b
    org.apache.spark.SparkException: EOFException occurred while reading the port number.
    Driver stacktrace:"""
    assert workers._not_started(said) == "the workers cannot run Python: OSError: AF_UNIX path too long"


def test_a_master_that_nobody_answers_at_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Java's exceptions have no names in Python."""
    stopped = SimpleNamespace(_target_id="o1", getMessage=lambda: "Cannot call methods.\n\tat java")

    def refuse(_: SparkSession.Builder) -> None:
        raise Py4JJavaError("An error occurred", stopped)

    monkeypatch.setitem(_start.__globals__, "_brought_along", lambda _: {})
    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", refuse)
    with pytest.raises(SegmendError) as error:
        _start("spark://there:7077", None, {}, ())
    assert str(error.value) == "Spark did not start on spark://there:7077: Cannot call methods."


@pytest.mark.parametrize(
    "master", ["foo://x", "local[x]", "localhost", "yarn-client", "spark://", "mesos://x"]
)
def test_a_master_that_spark_does_not_know_is_a_line(master: str) -> None:
    with pytest.raises(UsageError) as error:
        _start(master, None, {}, ())
    assert str(error.value).startswith(f"{master!r} is no Spark master: it is one of local,")
    assert "\n" not in str(error.value)


def test_a_session_with_another_python_is_a_line(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert segmend.spark.session() is spark
    monkeypatch.setattr(spark.sparkContext, "pythonExec", "false")
    with pytest.raises(
        SegmendError, match=r"Python, \S+/false, has no segmend: set PYSPARK_PYTHON=/\S+ before"
    ):
        segmend.spark.session()


def test_what_a_session_that_runs_does_not_heed_is_told(
    spark: SparkSession, caplog: pytest.LogCaptureFixture
) -> None:
    zone = "spark.sql.session.timeZone"
    master = spark.sparkContext.master
    assert segmend.spark.session(master, conf={zone: "UTC"}) is spark
    assert not caplog.text
    segmend.spark.session("spark://there:7077", conf={zone: "Asia/Tokyo"})
    words = f"Spark runs on {master} already, so spark://there:7077, {zone} is not heeded; stop() it first"
    assert words in caplog.text


@pytest.mark.parametrize("read", [segmend.spark.runs, segmend.spark.rescue])
def test_replicas_are_not_read_where_a_worker_has_another_disk(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: Callable[..., DataFrame]
) -> None:
    write_broker(tmp_path, 1, [plain("t", 0)])
    monkeypatch.setattr(workers, "is_local", lambda _: False)
    monkeypatch.setattr(workers, "_identity", lambda _: "another disk")
    with pytest.raises(SegmendError, match=r"does not see .*b1/data as it is here") as error:
        read(spark, str(tmp_path))
    # A DataFrame has no command line.
    assert "--driver" not in str(error.value)


def test_connect_without_its_packages_is_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "grpc.py").write_text("raise ImportError('there is no grpc')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "hidden"), prepend=os.pathsep)
    write_broker(tmp_path, 1, [plain("t", 0)])
    command = [sys.executable, "-m", "segmend", "fleet", "audit", str(tmp_path), "--out", str(tmp_path / "o")]
    done = subprocess.run(
        [*command, "--master", "sc://127.0.0.1:1"], capture_output=True, text=True, check=False, timeout=200
    )
    assert done.returncode == 8
    assert done.stderr.splitlines()[-1].startswith(
        "segmend: sc://127.0.0.1:1: [PACKAGE_NOT_INSTALLED] grpcio"
    )
