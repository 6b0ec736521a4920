"""What travels to a task is its own: in any fleet a few kilobytes, and brokers stay whole where they can."""

import dataclasses
import pickle
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.fleet.build import three_brokers

from segmend.checks import Level
from segmend.fleet import plan as planning
from segmend.fleet.delta import AuditRun
from segmend.fleet.driver import LocalDriver
from segmend.fleet.listing import Place
from segmend.fleet.plan import make_plan, pack_shares
from segmend.fleet.task import AuditJob, Share, Task, TaskPiece, run_task
from segmend.logdir.release import Guess, Release

JOB = AuditJob(
    out="/reports/fleet", run=AuditRun(run_id="20261122T202043Z-5f52ce", number=1), level=Level.DEEP
)


def fleet(brokers: int, bytes_each: int) -> Iterator[Share]:
    for broker in range(brokers):
        dirs = [
            (2 * broker, f"/brokers/broker-{broker}/data0"),
            (2 * broker + 1, f"/brokers/broker-{broker}/data1"),
        ]
        places = tuple(
            Place(log_dir_id=n, path=path, broker=broker, cluster_id="lgh6rUYk") for n, path in dirs
        )
        pieces = [
            TaskPiece(log_dir_id=dirs[n % 2][0], name=f"orders.eu-{n}", bytes=bytes_each, files=80)
            for n in range(100)
        ]
        whole = TaskPiece(log_dir_id=2 * broker, name=None, bytes=0, files=2)
        sizes = {dirs[0][0]: 50 * bytes_each, dirs[1][0]: 50 * bytes_each}
        yield Share(
            release=Guess.named(Release((3, 9)), "given"),
            places=places,
            pieces=(whole, *pieces),
            dir_bytes=sizes,
        )


def payloads(shares: Iterator[Share]) -> list[int]:
    tasks = pack_shares(shares, cores=8)
    return [len(zlib.compress(pickle.dumps((run_task, Task(job=JOB, shares=tuple(each)))))) for each in tasks]


@pytest.mark.slow
def test_a_task_is_no_larger_in_a_larger_fleet() -> None:
    small, large = payloads(fleet(10, 20 << 20)), payloads(fleet(300, 20 << 20))
    assert max(large) <= max(small) * 1.2
    assert max(large) <= 2048


def test_every_piece_is_in_one_task_and_small_brokers_are_opened_once() -> None:
    given = list(fleet(40, 1000))
    tasks = pack_shares(given, cores=2)
    found = Counter((share.places, piece) for task in tasks for share in task for piece in share.pieces)
    assert found == Counter((share.places, piece) for share in given for piece in share.pieces)
    assert max(Counter(share.places for task in tasks for share in task).values()) <= 8
    told = [share for task in tasks for share in task if share.dir_bytes]
    assert all(share.pieces[0].name is None for share in told)
    assert len(told) == len(given)


def test_a_large_fleet_is_listed_by_tasks(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    paths = [str(three_brokers(tmp_path / "fleet"))]
    job = dataclasses.replace(JOB, out=str(tmp_path / "out"))
    alone = make_plan(paths, job, LocalDriver(1), None)
    monkeypatch.setattr(planning, "LISTED_AT_ONCE", 1)
    split = make_plan(paths, job, LocalDriver(2), None)
    assert sum(task.bytes for task in split.tasks) == sum(task.bytes for task in alone.tasks)
    assert len(alone.places) == 3
