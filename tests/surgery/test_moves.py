"""Where a drain sends partitions, and what a move does with a copy that the broker began."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import pytest
from tests.brokers import broker_of
from tests.checks.build_metadata import cluster, write_metadata
from tests.checks.build_partition import META_V1, PartitionWriter, write_log_dir

from segmend.errors import SegmendError, UsageError
from segmend.logdir import disk
from segmend.logdir.file_system import EntryType, FileStat, Space, Unreadable
from segmend.logdir.log_dir import LogDir
from segmend.report.plan import plan_lines
from segmend.report.style import PLAIN
from segmend.surgery.execute.throttle import Throttle
from segmend.surgery.ops.drain import operation as drain
from segmend.surgery.ops.move import operation as move
from segmend.surgery.plan import THROTTLE
from segmend.surgery.planning import amounts, assembly
from segmend.surgery.planning.harm import Harm, HarmOfStart
from segmend.surgery.replicas import relocation
from segmend.surgery.request import Request
from segmend.surgery.steps.move_dir import MoveDir

Asked = TypeVar("Asked")
IDS = ("JTJWqc3YQ3mqoxqVcVOkXg", "Ei9Q2mAqSJ2Jb9m3Fq3pJA", "Zi9Q2mAqSJ2Jb9m3Fq3pJB")


@pytest.fixture
def dirs(tmp_path: Path) -> list[Path]:
    """`a` has partitions of about 10, 20, 30 and 40 KiB; `b` and `c` are empty."""
    writers = []
    for number, name in enumerate(("w", "x", "y", "z"), 1):
        writer = PartitionWriter(name)
        writer.append(1, size=number * 10_240)
        writers.append(writer)
    found = [write_log_dir(tmp_path / "a", writers, directory_id=IDS[0])]
    return [
        *found,
        *(write_log_dir(tmp_path / n, [], directory_id=i) for n, i in zip("bc", IDS[1:], strict=True)),
    ]


def request(dirs: list[Path], options: Asked) -> Request[Asked]:
    given = [str(path) for path in dirs]
    return Request(broker=broker_of(dirs, "4.3"), given=given, options=options)


def on_disks(patch: pytest.MonkeyPatch, free: Mapping[str, int], devices: Mapping[str, int]) -> None:
    """Pretend that the dirs have that much room, on those disks."""
    stat = disk.file_stat

    def file_stat(path: str, *, follow: bool = True) -> FileStat:
        found = stat(path, follow=follow)
        name = path.rpartition("/")[2]
        if name not in devices:
            return found
        return found._replace(device=devices[name])

    def space(self: LogDir) -> Space:
        room = free.get(self.name, 1 << 29)
        return Space(total=1 << 30, free=room, available=room, read_only=False)

    patch.setattr(disk, "file_stat", file_stat)
    patch.setattr(LogDir, "space", space)


def places(dirs: list[Path]) -> dict[str, str]:
    plan = drain.plan(request(dirs, drain.Options(from_=str(dirs[0]))))
    moves = [step.paths for step in plan.steps if step.KIND == "move_dir"]
    return {Path(source).name: Path(target).parent.name for source, target in moves}


def test_the_largest_goes_where_most_is_free(dirs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    on_disks(monkeypatch, {"b": 1_000_000, "c": 970_000}, {"a": 1, "b": 2, "c": 3})
    assert places(dirs) == {"z-0": "b", "y-0": "c", "x-0": "b", "w-0": "c"}


def test_on_one_disk_they_are_shared_out(dirs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    on_disks(monkeypatch, {"b": 0, "c": 0}, {"a": 1, "b": 1, "c": 1})
    assert sorted(places(dirs).values()) == ["b", "b", "c", "c"]


def test_a_throttle_is_kept_to_and_said(dirs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    on_disks(monkeypatch, {}, {"a": 1, "b": 2, "c": 3})
    for planned in (
        drain.plan(request(dirs, drain.Options(from_=str(dirs[0]), throttle=amounts.rate("50kB/s")))),
        move.plan(request(dirs, move.Options(partition=("w-0",), to=str(dirs[1]), throttle=50_000))),
    ):
        assert (planned.extra[THROTTLE], planned.arguments[THROTTLE]) == (50_000, "50000/s")
        sources = [Path(step.source) for step in planned.steps if isinstance(step, MoveDir)]
        size = sum(path.stat().st_size for source in sources for path in source.iterdir())
        least = f"{size:,} bytes are copied to another disk at 50,000 a second: {size / 50_000:.1f} seconds"
        assert f"{least} at the least" in planned.notes
    plan = replace(planned, extra={THROTTLE: [planned.extra[THROTTLE], 1 << 40, True, "x"]})
    clock = [0.0]

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    throttle = Throttle(plan, lambda: clock[0] > 9, now=lambda: clock[0], sleep=sleep)
    for _ in range(4):
        throttle.wrote(25_000)
    assert clock[0] == pytest.approx(2)
    clock[0] += 5  # nobody makes up for it
    throttle.wrote(25_000)
    assert clock[0] == pytest.approx(7.5)
    throttle.wrote(1_000_000)
    assert 9 < clock[0] < 9.5  # somebody asked to stop
    Throttle(replace(plan, extra={}), lambda: False, sleep=pytest.fail).wrote(1 << 40)


def test_what_writing_takes_by_itself_is_part_of_the_time_of_a_throttle(
    dirs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It came on top: at half of what the disk can do, a third less than was asked for."""
    on_disks(monkeypatch, {}, {"a": 1, "b": 2, "c": 3})
    clock = [0.0]

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    asked = move.Options(partition=("w-0",), to=str(dirs[1]), throttle=100_000)
    throttle = Throttle(move.plan(request(dirs, asked)), lambda: False, now=lambda: clock[0], sleep=sleep)
    for _ in range(100):
        clock[0] += 0.05  # the disk alone
        throttle.wrote(10_000)
    assert clock[0] == pytest.approx(10, rel=0.02)


def test_what_has_no_room_is_not_planned(dirs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    on_disks(monkeypatch, {"b": 50_000, "c": 50_000}, {"a": 1, "b": 2, "c": 3})
    with pytest.raises(SegmendError, match="are free elsewhere"):
        places(dirs)


def test_a_copy_that_the_broker_began_is_set_aside(dirs: list[Path]) -> None:
    begun = dirs[1] / f"w-0.{'0' * 32}-future"
    begun.mkdir()
    (begun / f"{0:020d}.log").write_bytes(b"half")
    plan = move.plan(request(dirs, move.Options(partition=("w-0",), to=str(dirs[1]))))
    aside = [step.paths[0] for step in plan.steps if step.KIND == "quarantine"]
    assert aside == [str(begun)]
    assert plan.losses == ()


def apart(root: Path) -> Path:
    """A `metadata.log.dir` that is none of `log.dirs`, formatted and no more."""
    root.mkdir()
    (root / "meta.properties").write_text(META_V1.format("Zi9Q2mAqSJ2Jb9m3Fq3pJC"))
    return root


@pytest.mark.parametrize("registered", [IDS, ()])
def test_nothing_goes_where_only_the_metadata_is(
    dirs: list[Path], registered: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    meta = apart(dirs[0].parent / "m")
    write_metadata(meta, cluster("wxyz", directory_ids=registered))
    on_disks(monkeypatch, {"b": 0, "c": 0, "m": 1_000_000}, {"a": 1, "b": 1, "c": 1, "m": 2})
    assert set(places([*dirs, meta]).values()) == {"b", "c"}
    with pytest.raises(UsageError, match="metadata only"):
        move.plan(request([*dirs, meta], move.Options(partition=("w-0",), to=str(meta))))


def test_the_metadata_may_lie_among_the_topics(dirs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    write_metadata(dirs[1], cluster("wxyz", directory_ids=IDS))
    on_disks(monkeypatch, {"b": 1_000_000, "c": 0}, {"a": 1, "b": 2, "c": 3})
    assert set(places(dirs).values()) == {"b"}


def test_of_a_broker_with_very_many_partitions_those_that_move_are_forecast(
    dirs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The steps are the same, and the plan says what it did not look at."""
    asked = move.Options(partition=("w-0",), to=str(dirs[1]))
    usual = move.plan(request(dirs, asked))
    assert "looked_at" not in usual.forecast["before"]
    monkeypatch.setattr(relocation, "_MANY", 3)
    plan = move.plan(request(dirs, asked))
    assert plan.steps == usual.steps
    for start in (plan.forecast["before"], plan.forecast["after"]):
        assert start["looked_at"] == 1
        assert "3 partitions that the plan does not touch" in start["unknown"]
        assert start["partitions"] == 4
        assert start["seconds"] is None
    said = list(plan_lines(plan, PLAIN))
    words = "no loss is seen of 1 partition that it touches; not known: "
    told = [line.partition(words)[2] for line in said if words in line]
    assert [line.endswith("3 partitions that the plan does not touch") for line in told] == [True, True]
    names = frozenset(f"{topic}-0" for topic in "wxyz")
    assert "looked_at" not in HarmOfStart.of(request(dirs, asked).broker, only=names).line


@pytest.mark.parametrize(
    ("harm", "other", "exceeds"),
    [
        (Harm(fails=True, records=0), Harm(fails=False, records=0), True),
        (Harm(fails=True, records=0), Harm(fails=True, records=0), False),
        (Harm(fails=False, records=3), Harm(fails=False, records=2), True),
        (Harm(fails=False, records=2), Harm(fails=False, records=2), False),
        (Harm(fails=False, records=2), Harm(fails=True, records=0), True),
        (Harm(fails=False, records=2, whole=2), Harm(fails=True, records=0), False),
        (Harm(fails=False, records=2, whole=2), Harm(fails=False, records=0), True),
    ],
)
def test_a_load_that_fails_is_more_harm(harm: Harm, other: Harm, exceeds: bool) -> None:
    assert harm.exceeds(other) is exceeds


def test_a_marker_is_set_aside_where_there_is_one(tmp_path: Path) -> None:
    log_dir = write_log_dir(tmp_path / "a", [])
    step = assembly.set_marker_aside(LogDir.open(str(log_dir)), "why")
    assert step is not None
    assert (step.KIND, step.paths[0]) == ("quarantine", str(log_dir / ".kafka_cleanshutdown"))
    (log_dir / ".kafka_cleanshutdown").unlink()
    assert assembly.set_marker_aside(LogDir.open(str(log_dir)), "why") is None


@pytest.mark.parametrize(("source", "target"), [(False, True), (True, True), (False, False), (True, False)])
def test_what_was_not_stopped_in_order_comes_under_no_marker(
    dirs: list[Path], source: bool, target: bool
) -> None:
    for path in (path for path, clean in zip(dirs, (source, target), strict=False) if not clean):
        (path / ".kafka_cleanshutdown").unlink()
    plan = move.plan(request(dirs, move.Options(partition=("w-0",), to=str(dirs[1]))))
    aside = [step.paths[0] for step in plan.steps if step.KIND == "quarantine"]
    assert aside == ([str(dirs[1] / ".kafka_cleanshutdown")] if target and not source else [])
    said = [note for note in plan.notes if "clean shutdown marker" in note]
    assert [assembly.MARKER_KEPT in note for note in said] == ([source] if target else [])


def test_what_cannot_be_moved_is_refused(dirs: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(name: str) -> str:
        with pytest.raises(SegmendError) as said:
            move.plan(request(dirs, move.Options(partition=(name,), to=str(dirs[1]))))
        return str(said.value)

    gone = f"x-0.{'0' * 32}-delete"
    (dirs[0] / gone).mkdir()
    assert "is no partition that a broker serves, but delete" in refused(gone)
    (dirs[1] / "w-0").mkdir()
    assert "is there already; a broker refuses two of them" in refused("w-0")
    listing = disk.listing

    def closed(path: str) -> dict[str, EntryType]:
        if path.endswith("/y-0"):
            raise Unreadable(path, "permission denied")
        return listing(path)

    monkeypatch.setattr(disk, "listing", closed)
    assert "y-0: permission denied" in refused("y-0")
