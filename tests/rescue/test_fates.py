"""Of a transaction whose marker is lost nothing is said that is not so."""

from pathlib import Path
from typing import Any

import pytest
from tests.checks.build_partition import PartitionWriter
from tests.cli.run import run
from tests.conftest import one_in
from tests.faults.on_disk import batches_of, flip
from tests.fleet.build import write_broker
from tests.golden.shared import golden
from tests.merge.test_diff import broker
from tests.merge.test_put_back import hurt
from tests.rescue.replicas import replicas, told
from tests.rescue.test_gaps import cut_out

from segmend.formats.build import BatchProducer, NewRecord, build_batch
from segmend.logdir.log_dir import LogDir
from segmend.merge import fates
from segmend.rescue.request import RescueRequest
from segmend.rescue.run import RescueTask, job_of


@pytest.mark.parametrize("number", one_in(7, range(14)))
def test_a_lost_marker_makes_no_record_committed_nor_aborted(number: int, tmp_path: Path) -> None:
    (source,) = replicas(golden("4.3.1-killed"), tmp_path, ("txn-0",), count=1)
    run("rescue", source, "--out", tmp_path / "whole", "--as", "jsonl")
    truth = {row["offset"]: row for row in told(tmp_path / "whole")["txn-0"]}
    markers = []
    for log in sorted(source.glob("txn-0/*.log")):
        markers += [(log, batch) for batch in batches_of(log) if batch.is_control]
    log, marker = markers[number]
    flip(log, marker.end - 1)
    before = [each.last_offset for _, each in markers[:number] if each.producer_id == marker.producer_id]
    mine = range(max(before, default=-1) + 1, marker.base_offset)
    for indexes in (True, False):
        out = tmp_path / f"{indexes}"
        assert run("rescue", source, "--out", out, "--as", "jsonl").code == 4
        for row in told(out)["txn-0"]:
            known = truth[row["offset"]]["aborted"]
            if row["aborted"] is None:
                # The lost marker may be that of any transaction that was open there.
                assert known is None or row["offset"] < marker.base_offset
            else:
                assert row["aborted"] == known
                ended = row["producer_id"] != marker.producer_id or row["offset"] not in mine
                assert ended or indexes  # one that goes on behind tells of a commit, too
        for index in source.glob("txn-0/*.txnindex"):
            index.unlink()


def test_a_marker_that_a_log_leaves_out_ended_nobody_knows_how(tmp_path: Path) -> None:
    """Of a topic that is not compacted: whether the gap was a marker nothing tells."""
    writer = PartitionWriter()
    for end in (writer.abort, writer.commit):
        writer.append(2, producer=9, transactional=True)
        end(9)
    source = write_broker(tmp_path, 1, [writer])
    cut_out(source / "t-0" / f"{0:020d}.log", 1)
    (source / "t-0" / f"{0:020d}.txnindex").write_bytes(b"")
    places = LogDir.open(str(source)).partitions
    request = RescueRequest(dirs=(), out="", form="")
    job = job_of(RescueTask(request=request, places=places, release=None, compacted=False))
    assert [job.fates().of(9, offset) for offset in (0, 1, 3, 4)] == [None, None, False, False]


@pytest.mark.parametrize("carried", [fates._CARRIED, 15])
def test_of_more_open_transactions_than_can_be_followed_over_holes_nothing_is_known(
    carried: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every other batch is lost, and each that is left opened a transaction: none has a span a hole."""
    monkeypatch.setattr(fates, "_CARRIED", carried)
    log = [
        build_batch(
            [NewRecord(value=b"v")], base_offset=at, producer=BatchProducer(at, 0, 0, transactional=True)
        )
        for at in range(40)
    ]
    found: list[fates.Fates] = []
    known = fates.fates

    def noted(*given: Any) -> fates.Fates:
        found.append(known(*given))
        return found[-1]

    monkeypatch.setattr("segmend.rescue.run.fates", noted)
    source = broker(tmp_path, 1, [hurt(each) if at % 2 else each for at, each in enumerate(log)], mark=40)
    assert run("rescue", source, "--out", tmp_path / "out", "--as", "jsonl").code == 4
    rows = told(tmp_path / "out")["t-0"]
    assert [(row["offset"], row["aborted"]) for row in rows] == [(at, None) for at in range(0, 40, 2)]
    assert [each.whole for each in found] == [carried > 15]
    assert sum(map(len, found[0].spans.values())) <= 2 * len(rows)


def test_committed_records_and_those_of_which_nobody_knows_are_told_apart(tmp_path: Path) -> None:
    """A consumer of committed records gets none from the first open transaction on; a rescue has them."""
    (source,) = replicas(golden("4.3.1-killed"), tmp_path, ("txn-0", "txn-open-0"), count=1)
    codes = {}
    for level in ("read_uncommitted", "read_committed"):
        out = tmp_path / level
        ran = run("rescue", source, "--out", out, "--as", "jsonl", "--isolation", level, "--json")
        codes[level] = ran.code
        (line,) = (each for each in ran.of("partition") if each["topic"] == "txn-open")
        unknown = [row for row in told(out)["txn-open-0"] if row["aborted"] is None]
        assert len(unknown) == line["open"] > 0
        first = min(row["offset"] for row in unknown)
        assert [f"would get none from {first} on" in each for each in line["doubts"]] == [True] * (
            level == "read_committed"
        )
    assert codes == {"read_uncommitted": 0, "read_committed": 4}


def test_a_log_of_transactions_that_lost_its_padding(tmp_path: Path) -> None:
    """No broker reads that name, and there is no file of the name that is missing."""
    dirs = replicas(golden("4.3.1-killed"), tmp_path, ("txn-0",), count=2)
    logs = sorted(path.name for path in dirs[0].glob("txn-0/*.log"))
    assert len(logs) > 2
    for number, name in enumerate(logs[:-1]):
        for each in dirs:
            (each / "txn-0" / name).rename(each / "txn-0" / name[2:])
        ran = run("rescue", *dirs, "--out", tmp_path / f"o{number}", "--as", "jsonl", "--json", code=12)
        assert ran.of("partition")[0]["missing"] or number == 0
        for each in dirs:
            (each / "txn-0" / name[2:]).rename(each / "txn-0" / name)
