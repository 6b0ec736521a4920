"""The workers of a local session: PySpark collects garbage after each task, in what is none."""

import gc
import socket
from collections.abc import Iterator

import pytest
from tests.cli.run import python

from segmend.spark import daemon


@pytest.fixture
def thawed() -> Iterator[None]:
    gc.unfreeze()
    yield
    gc.unfreeze()


@pytest.mark.slow
@pytest.mark.usefixtures("thawed")
def test_what_a_first_task_imported_is_never_looked_through_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemon, "_worker", lambda _socket, _authenticated: 0)
    one, other = socket.socketpair()
    with one, other:
        assert daemon.worker(one, False) == 0
        imported = gc.get_freeze_count()
        assert imported > 10_000
        kept: list[object] = [[number] for number in range(1_000)]
        assert daemon.worker(one, True) == 0
    assert gc.get_freeze_count() <= imported, "what later tasks leave behind may be garbage"
    assert len(kept) == 1_000


HUNG_UP_ON = """
import importlib.util, socket, sys, traceback
sys.modules["__main__"].__spec__ = importlib.util.find_spec("pyspark.daemon")

def plan(name):
    from segmend.spark import source
    if name == "kafka-log":
        source.KafkaLogDataSource({}).schema()

def worker(name, error):  # as that of pyspark.daemon, and named as it is
    infile = open(sys.executable, "rb")
    if name:
        plan(name)
    raise error

called = worker
for name, error in (
    ("other, where we are imported", BrokenPipeError("unseen")), ("other", BrokenPipeError("of another")),
    ("kafka-log", BrokenPipeError("unseen")), ("kafka-log", ValueError("a fault")),
    ("", BrokenPipeError("of nobody")),
):
    try:
        called(name, error)
    except Exception:
        traceback.print_exc()
idle, spark = socket.socketpair()
spark.close()
assert worker(idle, True) == 1
"""


@pytest.mark.slow
def test_a_worker_of_a_plan_that_spark_hangs_up_on_shows_no_stack() -> None:
    """It is one of PySpark's own daemon (seen of some in a hundred reads, of any outcome).

    It may also plan what other sources read, and that is not ours to hide.
    """
    ran = python("-c", HUNG_UP_ON)
    ends = [line for line in ran.stderr.splitlines() if "Error: " in line]
    assert ends == ["BrokenPipeError: of another", "ValueError: a fault", "BrokenPipeError: of nobody"]
    assert ran.stderr.count("Traceback") == 3
