"""`import segmend`: the same without a process."""

import re
import sys
from pathlib import Path

import pytest

import segmend
from segmend.formats.build import BatchProducer, NewRecord, build_batch
from segmend.loading import PartitionOutcome
from tests.cli.run import python
from tests.conftest import expected, golden_names
from tests.faults.on_disk import flip, lengthen
from tests.golden.shared import golden
from tests.markers import build_marker


def data(tmp_path: Path) -> Path:
    (tmp_path / "t-0").mkdir()
    content = build_batch([NewRecord(b"v", key=b"k", timestamp=1_761_955_200_000 + n) for n in range(4)])
    (tmp_path / "t-0" / f"{0:020d}.log").write_bytes(content)
    return tmp_path


def test_from_a_path_to_segments(tmp_path: Path) -> None:
    log_dir = segmend.open(data(tmp_path))
    (partition,) = log_dir.partitions
    (segment,) = partition.segments
    assert isinstance(log_dir, segmend.LogDir)
    assert isinstance(segment, segmend.LogSegment)
    assert (partition.topic, partition.partition) == ("t", 0)
    assert segmend.log_end_offset(partition) == 4


def test_checking(tmp_path: Path) -> None:
    run = segmend.check(segmend.open(data(tmp_path)), kafka="2.2", level=segmend.Level.DEEP)
    codes = [finding.code for finding in run]
    assert all(codes)
    assert run.summary.batches == 1


def test_forecasting(tmp_path: Path) -> None:
    run = segmend.forecast(segmend.open(data(tmp_path)), kafka="2.2", clean=False)
    (outcome,) = [line for line in run if isinstance(line, PartitionOutcome)]
    assert (outcome.topic, outcome.after.log_end_offset) == ("t", 4)
    assert run.broker is not None
    assert run.broker.starts


def test_planning(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    data(tmp_path / "a")
    a, b = segmend.open(tmp_path / "a"), segmend.open(tmp_path / "b")
    plan = segmend.plan("move", a, b, partition=["t-0"], to=b.path, kafka="4.3")
    assert isinstance(plan, segmend.Plan)
    assert plan.steps
    assert sorted(path.name for path in tmp_path.rglob("*-0")) == ["t-0"]
    with pytest.raises(segmend.UsageError, match="no operation is called 'mend'"):
        segmend.plan("mend", a)
    with pytest.raises(segmend.UsageError, match=r"plan\('move'\): .*--to"):
        segmend.plan("move", a, partition="t-0")


@pytest.mark.parametrize(
    ("operation", "options", "words"),
    [
        ("trim", {"accept_loss": 7}, "argument --accept-loss: '7' does not say how many records"),
        ("trim", {"accept": "7-records"}, "unrecognized arguments: --accept "),
        ("trim", {"accept_loss": True}, "argument --accept-loss: expected one argument"),
        ("repair", {"deep": "yes"}, "argument --deep: takes True or False"),
        ("free", {"bytes": "much"}, "argument --bytes: 'much' is no number of bytes"),
        ("free", {"bytes": 5, "now": "soon"}, "argument --now: invalid int value: 'soon'"),
        ("drain", {"from": ["/a", "/b"]}, "argument --from: takes one value"),
        ("balance", {"days": -1}, "argument --days: '-1' is no number of days"),
        ("move", {}, "the following arguments are required: --partition, --to"),
    ],
)
def test_options_are_asked_as_the_command_line_asks_them(
    tmp_path: Path, operation: str, options: dict[str, object], words: str
) -> None:
    with pytest.raises(segmend.UsageError, match=re.escape(f"plan('{operation}'): {words}")):
        segmend.plan(operation, segmend.open(data(tmp_path)), **options)  # type: ignore[arg-type]


def test_options_may_be_values_or_words(tmp_path: Path) -> None:
    log_dir = segmend.open(data(tmp_path))
    given = {"index_interval": 512, "accept_loss": None, "deep": True, "from": None}
    by_value = segmend.plan("repair", log_dir, kafka="4.3", **given)  # type: ignore[arg-type]
    assert by_value.arguments == {"deep": True, "index-interval": 512}
    assert segmend.plan("repair", log_dir, kafka="4.3", index_interval="512", deep=True) == by_value


def test_errors_are_segmends_own(tmp_path: Path) -> None:
    with pytest.raises(segmend.SegmendError, match="no such file"):
        segmend.open(tmp_path / "gone")
    with pytest.raises(segmend.UsageError):
        segmend.check(kafka="7.0")
    with pytest.raises(AttributeError, match="no attribute 'close'"):
        _ = segmend.close


def test_every_public_name_is_there_and_importing_is_light() -> None:
    for name in segmend.__all__:
        assert getattr(segmend, name).__doc__
        assert name in dir(segmend)
    ran = python("-c", "import sys, segmend; print(*sys.modules)")
    assert not [module for module in ran.stdout.split() if module.startswith("segmend.")]


def long_partition(tmp_path: Path) -> segmend.PartitionDir:
    """Offsets 0 to 29 in three segments of two batches, with a marker at 25."""
    root = tmp_path / "t-0"
    root.mkdir()
    for base in (0, 10, 20):
        halves = (
            build_batch(
                [NewRecord(b"v%d" % n, key=b"k", timestamp=1000 + n) for n in range(first, first + 5)],
                base_offset=first,
                producer=BatchProducer(7),
            )
            for first in (base, base + 5)
        )
        (root / f"{base:020d}.log").write_bytes(b"".join(halves))
    marker = build_marker(offset=30, commit=True, producer_id=7, producer_epoch=0, timestamp=2000)
    lengthen(root / f"{20:020d}.log", marker)
    (found,) = segmend.open(tmp_path).partitions
    return found


def offsets(*args: object, **options: object) -> list[int]:
    pieces = segmend.records(*args, columns=["offset"], **options)  # type: ignore[arg-type]
    return [offset for piece in pieces for offset in piece.column("offset").to_pylist()]


def test_records_as_arrow(tmp_path: Path) -> None:
    found = long_partition(tmp_path)
    assert offsets(found) == list(range(30))
    assert offsets(found, control=True)[-1] == 30
    assert offsets(found.segments[1]) == list(range(10, 20))
    assert offsets(found, first_offset=8, last_offset=11) == [8, 9, 10, 11]
    assert offsets(found, since=1027) == [27, 28, 29]
    assert offsets(found, until=1001) == [0, 1]
    (whole,) = segmend.records(found.segments[0], last_offset=0)
    (row,) = whole.to_pylist()
    assert (row["key"], row["value"], row["timestamp"], row["producer_id"]) == (b"k", b"v0", 1000, 7)


def test_batches_as_arrow(tmp_path: Path) -> None:
    found = long_partition(tmp_path)
    rows = [row for piece in segmend.batches(found, crc=True) for row in piece.to_pylist()]
    assert [row["base_offset"] for row in rows] == [0, 5, 10, 15, 20, 25, 30]
    assert all(row["crc_ok"] for row in rows)
    assert [row["is_control"] for row in rows] == [False] * 6 + [True]


def test_damage_is_passed_over_and_told(tmp_path: Path) -> None:
    found = long_partition(tmp_path)
    log = Path(found.path) / f"{10:020d}.log"
    flip(log, 70)
    told: list[tuple[int, str]] = []
    got = offsets(found, on_problem=lambda segment, problem: told.append((segment.base_offset, problem.kind)))
    assert got == [*range(10), *range(15, 30)]
    assert told == [(10, "crc-mismatch")]
    assert offsets(found) == got


def test_what_cannot_be_asked_of_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = long_partition(tmp_path)
    with pytest.raises(segmend.UsageError, match=r"no such column: vlaue; have offset, timestamp, "):
        segmend.records(found, columns=["vlaue"])
    for module in ("segmend.kernel.arrow", "pyarrow"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.delattr("segmend.kernel.arrow", raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for door in (segmend.records, segmend.batches):
        with pytest.raises(segmend.SegmendError, match=r"need pyarrow: run `pip install '\.\[arrow\]'`"):
            door(found)
    assert segmend.log_end_offset(found) == 31


@pytest.mark.parametrize("name", [n for n in golden_names() if n.endswith("-clean")])
def test_records_of_a_real_broker(name: str) -> None:
    """Every record that Kafka's dump lists, with its bytes, in the partitions of the first log dir."""
    dumped = expected(name)["files"]
    checked = 0
    for partition in segmend.open(golden(name) / "b1" / "d0").partitions:
        for segment in partition.segments:
            theirs = dumped.get(f"b1/d0/{partition.name}/{segment.name}", {}).get("records", [])
            theirs = [row for row in theirs if "isControl" not in row and "endTxnMarker" not in row]
            pieces = segmend.records(segment, control=False, columns=["offset", "value"])
            ours = [tuple(row.values()) for piece in pieces for row in piece.to_pylist()]
            if partition.topic.startswith("__"):
                continue
            assert [offset for offset, _ in ours] == [row["offset"] for row in theirs]
            values = [None if value is None else value.hex() for _, value in ours]
            assert values == [row.get("value") for row in theirs]
            checked += len(ours)
    assert checked > 100
