"""The model of a start: more work takes longer, threads and cores divide it, a slow disk is a floor."""

from dataclasses import fields, replace

import pytest

from segmend.loading.timing.costs import PARTS
from segmend.loading.timing.estimate import DirWork, Estimate, LoadJob, Machine, Work, estimate
from segmend.logdir.release import Release

OLD, NEW = Release.parse("1.1"), Release.parse("4.3")
SOME = Work(
    partitions=1, segments=10, checked=10, recovered=2, scanned_bytes=10**8, scanned_batches=10**4,
    replayed_bytes=10**6, replayed_batches=100,
)  # fmt: skip
TIMED = [field.name for field in fields(Work) if field.name != "replayed_bytes"]


def dir_of(*works: Work, device: int = 1, metadata: Work | None = None) -> DirWork:
    jobs = [LoadJob(name=f"t-{number}", work=work) for number, work in enumerate(works)]
    return DirWork(jobs=jobs, device=device, metadata=metadata or Work())


def start(
    *dirs: DirWork, threads: int = 1, machine: Machine | None = None, release: Release = NEW
) -> Estimate:
    return estimate(dirs, release, threads, machine)


@pytest.mark.parametrize("release", [OLD, NEW], ids=str)
@pytest.mark.parametrize("name", TIMED)
def test_more_of_anything_takes_longer(name: str, release: Release) -> None:
    more = replace(SOME, **{name: getattr(SOME, name) * 2})
    assert start(dir_of(more), release=release).seconds > start(dir_of(SOME), release=release).seconds


def test_the_parts_add_up() -> None:
    found = start(dir_of(SOME, SOME, metadata=SOME), dir_of(SOME))
    assert found.parts.keys() == PARTS.keys()
    assert found.seconds == pytest.approx(sum(found.parts.values()))
    assert found.loading == pytest.approx(found.seconds - found.parts["jvm"] - found.parts["metadata"])
    assert found.scanned_bytes == 3 * SOME.scanned_bytes


def scan(found: Estimate) -> float:
    return found.parts["recovery_scan"]


def busy(found: Estimate) -> float:
    return found.loading - found.parts["warm_up"]


def test_threads_divide_the_work_of_a_dir() -> None:
    work = dir_of(*[SOME] * 8)
    assert scan(start(work, threads=4)) == pytest.approx(scan(start(work)) / 4)


def test_one_partition_is_one_threads_work() -> None:
    large = replace(SOME, scanned_bytes=10**10)
    found = start(dir_of(large, SOME, SOME), threads=16)
    assert busy(found) == pytest.approx(busy(start(dir_of(large))))
    assert found.longest == "t-0"
    assert start(dir_of(SOME, SOME), threads=2).longest is None


def test_log_dirs_load_beside_each_other() -> None:
    both = start(dir_of(SOME), dir_of(SOME, device=2))
    assert busy(both) == pytest.approx(busy(start(dir_of(SOME))))


def test_more_threads_than_cores_gain_nothing() -> None:
    work, machine = dir_of(*[SOME] * 8), Machine(cores=3)  # one for the JVM itself
    assert scan(start(work, threads=8, machine=machine)) == pytest.approx(scan(start(work, threads=2)))
    two = [dir_of(*[SOME] * 4), dir_of(*[SOME] * 4, device=2)]
    assert scan(start(*two, threads=4, machine=Machine(cores=1))) == pytest.approx(
        scan(start(work)), rel=0.01
    )


def test_a_slow_disk_comes_on_top_and_threads_do_not_move_it() -> None:
    work = dir_of(*[SOME] * 4)
    for threads in (1, 4):
        cached = start(work, threads=threads)
        read = start(work, threads=threads, machine=Machine(read_speed=10e6))
        assert scan(read) - scan(cached) == pytest.approx(4 * 10**8 / 10e6)


def test_dirs_on_one_disk_share_its_speed() -> None:
    machine = Machine(read_speed=10e6)
    apart = start(dir_of(SOME), dir_of(SOME, device=2), machine=machine)
    together = start(dir_of(SOME), dir_of(SOME), machine=machine)
    assert scan(together) == pytest.approx(2 * scan(apart), rel=0.05)


def test_a_disk_that_seeks_slowly_makes_checks_slow() -> None:
    """KIP-263's case: 3,000 segments, minutes of sanity checks."""
    work = dir_of(Work(partitions=1, segments=3000, checked=3000))
    slow = start(work, release=OLD, machine=Machine(random_read=0.01))
    assert slow.parts["sanity_checks"] > 60 > start(work, release=OLD).parts["sanity_checks"]


def test_nothing_to_load_takes_the_time_of_the_jvm() -> None:
    assert start().seconds == start().parts["jvm"] > 0
    assert start(dir_of()).loading == 0
