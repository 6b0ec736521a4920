"""On the fleet's drivers an export adds what it adds alone, run after run, in one commit."""

from collections.abc import Callable
from pathlib import Path

import pytest
from deltalake import DeltaTable
from tests.cli.run import run
from tests.golden.shared import golden
from tests.rescue.test_export import Growing, offsets, table

from segmend.cluster.cluster_dirs import FleetDirs
from segmend.fleet.driver import LocalDriver
from segmend.logdir.log_dir import LogDir
from segmend.rescue.additions import Additions
from segmend.rescue.export import export
from segmend.rescue.request import RescueRequest
from segmend.rescue.spread import spread


@pytest.mark.slow
@pytest.mark.parametrize("driver", ["local", pytest.param("spark", marks=pytest.mark.spark)])
def test_it_gives_the_same_run_after_run(driver: str, tmp_path: Path) -> None:
    log = Growing(golden("4.3.1-killed"), tmp_path / "brokers")
    alone, there = tmp_path / "alone", tmp_path / "there"

    def fleet(*options: object) -> tuple[int, str, list[dict[str, object]]]:
        ran = run("fleet", "export", log.dir, "--out", there, "--driver", driver, "--json", *options)
        return ran.code, ran.err, ran.of("partition")

    for batches in (2, 2, len(log.ends)):
        end = log.show(batches)
        told = log.export(alone, "--json")
        code, err, lines = fleet()
        assert code == told.code == 0, err
        names = ("records", "first_offset", "next_offset", "missing", "sources")
        assert [[line[each] for each in names] for line in lines] == [
            [line[each] for each in names] for line in told.of("partition")
        ]
        assert offsets(there) == [*range(end)]
        assert table(there) == table(alone)
    # What was begun by one goes on with the other, and a run with nothing new commits nothing.
    assert DeltaTable(str(there)).version() == DeltaTable(str(alone)).version() == 2
    assert log.export(there, "--json").of("summary")[0]["records"] == 0
    code, err, _ = fleet("--isolation", "read_committed")
    assert (code, err.count("\n")) == (16, 1), err
    assert "another --isolation" in err


@pytest.mark.slow
def test_several_partitions_come_in_one_commit(tmp_path: Path) -> None:
    dirs = sorted(golden("4.3.1-killed").glob("b1/d*"))
    argv = [*dirs, "--topic", "[nt]*", "--json"]
    alone = run("export", *argv, "--out", tmp_path / "alone")
    there = run("fleet", "export", *argv, "--out", tmp_path / "there", "--driver", "local")
    assert (there.code, len(there.of("partition"))) == (0, len(alone.of("partition"))), there.err
    assert len(there.of("partition")) > 3
    assert DeltaTable(str(tmp_path / "there")).version() == 1
    assert sorted(map(str, table(tmp_path / "there"))) == sorted(map(str, table(tmp_path / "alone")))


class Twice(LocalDriver):
    """Runs each task a second time after the first has answered, as for a worker that was given up."""

    def __init__(self, between: Callable[[], object]) -> None:
        super().__init__(1)
        self._between = between

    def run(self, function, tasks, done=None):  # type: ignore[no-untyped-def]
        """The results of the first time."""
        yield from list(super().run(function, tasks, done))
        self._between()
        list(super().run(function, tasks, done))


def test_a_task_that_was_given_up_and_writes_on_changes_nothing(tmp_path: Path) -> None:
    log, out = Growing(golden("4.3.1-killed"), tmp_path), tmp_path / "out"
    end = log.show(3)
    request = RescueRequest(dirs=(str(log.dir),), out=str(out), form="delta")
    driver = Twice(lambda: log.show(len(log.ends)))

    def each(added: Additions):  # type: ignore[no-untyped-def]
        return spread(driver, (), lambda *_: None, added.elsewhere)

    list(export(request, FleetDirs([LogDir.open(str(log.dir))]), (), each, bundle=None))
    assert offsets(out) == [*range(end)]
    assert len(list(out.glob("*.parquet"))) > len(DeltaTable(str(out)).file_uris())


def test_what_failed_attempts_left_is_removed_and_no_version_of_the_table_loses_a_file(
    tmp_path: Path,
) -> None:
    log, out = Growing(golden("4.3.1-killed"), tmp_path), tmp_path / "out"
    argv = ("fleet", "export", log.dir, "--out", out, "--driver", "local")
    log.show(2)
    run(*argv, code=0)
    (first,) = out.glob("*.parquet")
    log.show(4)
    run(*argv, code=0)
    DeltaTable(str(out)).optimize.compact()
    DeltaTable(str(out)).create_checkpoint()
    before = {path.name for path in out.glob("*.parquet")}
    stem = first.name.removesuffix("-0.parquet")
    left = [stem[:-16] + "0" * 16 + ending for ending in ("-0.parquet", "-1.parquet.segmend.tmp")]
    left.append(f"{stem[:-17]}-7.parquet")
    for name in left:
        (out / name).write_bytes(first.read_bytes())
    mine = out / "mine-0.parquet"
    mine.touch()
    assert first.name in before
    run(*argv, code=0)
    assert {path.name for path in out.glob("*.parquet*")} == {*before, mine.name}
    assert len(DeltaTable(str(out), version=1).to_pyarrow_table()) > 0
    assert offsets(out) == [*range(log.show(4))]
