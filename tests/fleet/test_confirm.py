"""Two replicas agree, or differ at the first offset that both have and do not share."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.checks.build_partition import batch, record
from tests.conftest import examples
from tests.faults.on_disk import put_folder
from tests.fleet.build import plain, three_brokers

from segmend.fleet.confirm import Suspect, confirm, differ
from segmend.fleet.confirm import _Seen as Seen
from segmend.formats.batch import read_header


def seen(base: int, count: int = 3, *, epoch: int = 0, value: bytes = b"v") -> Seen:
    return Seen(read_header(batch(base, [record(i, None, value) for i in range(count)], epoch=epoch)), "f")


LOG = [seen(base) for base in range(0, 30, 3)]


@examples(50)
@given(st.integers(0, 10), st.integers(0, 10), st.integers(0, 10), st.integers(0, 10))
def test_any_two_stretches_of_one_log_agree(a: int, b: int, c: int, d: int) -> None:
    assert differ(LOG[a:b], LOG[c:d]) is None


@pytest.mark.parametrize(
    ("other", "kind", "offset"),
    [
        (seen(12, value=b"w"), "content", 12),
        (seen(12, epoch=1), "epoch", 12),
        (seen(12, count=2), "boundary", 12),
        (seen(13, count=2), "absent-there", 12),
    ],
)
def test_the_first_difference(other: Seen, kind: str, offset: int) -> None:
    changed = [*LOG[:4], other, *LOG[5:]]
    found = differ(LOG, changed)
    assert found is not None
    assert found[0] == kind
    assert found[1] is not None
    assert found[1].batch.base_offset == offset


@pytest.mark.parametrize(("mine", "kind"), [(True, "absent-here"), (False, "absent-there")])
def test_a_batch_that_only_one_has(mine: bool, kind: str) -> None:
    holed = [*LOG[:4], *LOG[5:]]
    found = differ(holed, LOG) if mine else differ(LOG, holed)
    assert found is not None
    assert found[0] == kind


def suspect(root: Path, *, buckets: tuple[int, ...] = (0,), comparable_from: int = 0) -> Suspect:
    return Suspect(
        log_dir_id=1, topic="orders", partition=0, dir_name="orders-0", path=f"{root}/b2/data",
        reference_path=f"{root}/b1/data", reference=1, comparable_from=comparable_from, buckets=buckets,
    )  # fmt: skip


def test_replicas_that_agree_are_cleared(tmp_path: Path) -> None:
    root = three_brokers(tmp_path)
    assert confirm([suspect(root)]) == [(1, "orders", 0, None)]
    assert confirm([suspect(root, buckets=(7,))]) == [(1, "orders", 0, None)]


def test_without_an_index_the_whole_segment_is_read(tmp_path: Path) -> None:
    root = three_brokers(tmp_path)
    for file in root.rglob("*.index"):
        file.write_bytes(b"\xff" * 16)
    assert confirm([suspect(root, comparable_from=100)]) == [(1, "orders", 0, None)]


def test_a_replica_that_cannot_be_read_is_not_judged_here(tmp_path: Path) -> None:
    root = three_brokers(tmp_path)
    for file in (root / "b2/data/orders-0").glob("*.log"):
        put_folder(file)
    assert confirm([suspect(root)]) == [(1, "orders", 0, None)]


def test_the_writer_of_these_tests_is_deterministic() -> None:
    one, two = plain("t", 0), plain("t", 0)
    assert [bytes(s.log) for s in one.segments] == [bytes(s.log) for s in two.segments]
