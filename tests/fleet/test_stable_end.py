"""Where `read_committed` ends: as far as the log was stable when the read was planned."""

from pathlib import Path

import pytest
from tests.checks.build_partition import PartitionWriter
from tests.fleet.build import write_broker

from segmend.fleet.options import parse_options
from segmend.fleet.tables import TableTask, open_table, read


def planned(root: Path, **options: str) -> list[TableTask]:
    given = {"isolation": "read_committed", "columns": "offset,_damage", **options}
    return open_table([str(root)], parse_options(given), cores=1)


def rows(works: list[TableTask]) -> list[tuple[int, str | None]]:
    return [tuple(row.values()) for work in works for each in read(work) for row in each.to_pylist()]


def test_a_transaction_begun_after_the_plan_is_behind_its_end(tmp_path: Path) -> None:
    """A broker would give nothing from its first record on: what others wrote behind it neither."""
    writer = PartitionWriter()
    writer.append(3)
    works = planned(write_broker(tmp_path, 1, [writer]).parent)
    writer.append(2, producer=9, transactional=True)
    writer.append(4)
    (tmp_path / "b1/data/t-0" / f"{0:020d}.log").write_bytes(writer.segments[-1].log)
    assert rows(works) == [(0, None), (1, None), (2, None)]
    assert rows(planned(tmp_path / "b1")) == [(0, None), (1, None), (2, None)]
    writer.commit(9)
    (tmp_path / "b1/data/t-0" / f"{0:020d}.log").write_bytes(writer.segments[-1].log)
    assert rows(planned(tmp_path / "b1")) == [(offset, None) for offset in range(9)]


@pytest.mark.parametrize("left", [61, 300, -1], ids=["a header", "some", "all but a byte"])
def test_a_batch_of_records_that_is_torn_off_was_no_marker(tmp_path: Path, left: int) -> None:
    """The broker that was killed at it cuts it off, and goes on where a transaction is open."""
    writer = PartitionWriter()
    writer.append(3)
    writer.append(2, producer=9, transactional=True)
    writer.append(4)
    whole = len(writer.segments[-1].log)
    folder = write_broker(tmp_path, 1, [writer], clean=False)
    writer.append(2, size=500)
    log = folder / "t-0" / f"{0:020d}.log"
    torn = bytes(writer.segments[-1].log)
    log.write_bytes(torn[: whole + left] if left > 0 else torn[:left])
    assert rows(planned(tmp_path / "b1")) == [(0, None), (1, None), (2, None)]


def test_what_may_have_been_a_marker_is_said(tmp_path: Path) -> None:
    """Of a batch as small as one nobody knows; nor where offsets were acknowledged that are gone."""
    writer = PartitionWriter()
    writer.append(3)
    writer.append(2, producer=9, transactional=True)
    folder = write_broker(tmp_path, 1, [writer], clean=False)
    writer.commit(9)
    log = folder / "t-0" / f"{0:020d}.log"
    log.write_bytes(bytes(writer.segments[-1].log)[:-1])
    given = rows(planned(tmp_path / "b1"))
    assert [offset for offset, damage in given if damage is None] == [0, 1, 2]
    assert any("unknown-end" in (damage or "") for _, damage in given)


def test_what_is_gone_below_the_high_watermark_is_said_of_a_stable_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    writer = PartitionWriter()
    writer.append(3)
    writer.append(2, producer=9, transactional=True)
    cut = len(writer.segments[-1].log)
    writer.append(4)
    folder = write_broker(tmp_path, 1, [writer])
    log = folder / "t-0" / f"{0:020d}.log"
    log.write_bytes(log.read_bytes()[:cut])
    assert [offset for offset, _ in rows(planned(tmp_path / "b1"))] == [0, 1, 2]
    assert "ends at offset 5, below its high watermark 9" in caplog.text
