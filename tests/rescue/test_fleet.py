"""On the fleet's drivers diff, rescue and export tell what they tell alone."""

import random
import shutil
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.beside import broker_on
from tests.cli.run import Ran, run
from tests.fleet.build import three_brokers
from tests.golden.shared import golden
from tests.rescue.drawn import Trial, brokers, content
from tests.rescue.replicas import hurt
from tests.rescue.replicas import replicas as copies
from tests.seeds import SEED

from segmend.fleet.driver import LocalDriver
from segmend.logdir.file_system import Unreadable
from segmend.logdir.partition_dir import PartitionDir
from segmend.merge import compared, replicas
from segmend.merge.values import Merged, Replica


def lines(ran: Ran) -> list[object]:
    return sorted(map(str, ran.of("partition")))


@pytest.mark.slow
@pytest.mark.parametrize("driver", ["local", pytest.param("spark", marks=pytest.mark.spark)])
@pytest.mark.parametrize("form", ["log-dir", pytest.param("parquet", marks=pytest.mark.slow)])
def test_it_gives_the_same(driver: str, form: str, tmp_path: Path) -> None:
    draw = random.Random(1)
    dirs = copies(golden("4.3.1-killed"), tmp_path / "brokers", ("codec-zstd-0", "txn-0", "nulls-0"))
    hurt(dirs, draw, lambda: {draw.randrange(3)})
    alone = run("rescue", *dirs, "--out", tmp_path / "alone", "--as", form, "--json")
    there = run(
        "fleet", "rescue", tmp_path / "brokers", "--out", tmp_path / "there", "--as", form, "--json",
        "--driver", driver,
    )  # fmt: skip
    assert (there.code, lines(there)) == (alone.code, lines(alone)), there.err
    assert content(tmp_path / "there") == content(tmp_path / "alone")


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_of_hurt_brokers_drawn_all_that_is_told_and_written_is_the_same(tmp_path: Path) -> None:
    """And an export that is killed adds each record once."""
    whole = cache(lambda name: brokers(name, tmp_path / name))
    for number in range(2):
        assert Trial(SEED, number, whole, tmp_path / str(number), "local").play() == []


GOES: dict[str, Callable[[list[Path]], object]] = {
    "one replica": lambda dirs: shutil.rmtree(dirs[0] / "orders-0"),
    "all replicas": lambda dirs: [shutil.rmtree(each / "orders-0") for each in dirs],
    "a disk": lambda dirs: dirs[0].rename(dirs[0].with_name("elsewhere")),
    "all disks": lambda dirs: [each.rename(each.with_name("elsewhere")) for each in dirs],
}


COMMANDS = (("diff",), ("rescue", "--as", "jsonl"), ("rescue", "--as", "log-dir"), ("export",))


@pytest.mark.parametrize(
    ("name", "gone"),
    [("local", "first"), ("local", "last"), pytest.param("spark", "first", marks=pytest.mark.spark)],
)
@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: c[-1])
def test_a_log_that_is_gone_once_the_tasks_begin_is_told_as_alone(
    command: tuple[str, ...], name: str, gone: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing of a log that is there no more may be passed for what the topic never had."""
    drivers: Any = LocalDriver if name == "local" else pytest.importorskip("segmend.spark.driver").SparkDriver
    root = three_brokers(tmp_path / "fleet")
    dirs = sorted(path.parent for path in root.rglob("meta.properties"))
    logs = [
        sorted(path.glob("orders-0/*.log"))[0 if gone == "first" else -1]
        for path in dirs
        if (path / "orders-0").is_dir()
    ]

    def take(then: Callable[..., Any]) -> Callable[..., Any]:
        def late(first: Any, *more: Any, **named: Any) -> Any:
            if isinstance(first, PartitionDir):
                assert first.topic != "orders" or first.segments
            for path in logs:
                if path.exists():
                    path.rename(path.with_suffix(".aside"))
            return then(first, *more, **named)

        return late

    told = []
    for where, places in (((), dirs), (("fleet",), [root])):
        out = () if command == ("diff",) else ("--out", tmp_path / f"out{len(told)}")
        driver = ("--driver", name) if where else ()
        with monkeypatch.context() as patched:
            patched.setattr(replicas, "begin_runs", take(replicas.begin_runs))
            patched.setattr(drivers, "run", take(drivers.run))
            ran = run(*where, *command, *places, *out, "--topic", "orders", "--json", *driver)
        for path in logs:
            path.with_suffix(".aside").rename(path)
        told.append((ran.code, sorted(line["missing"] or [] for line in ran.of("partition"))))
        # Alone, a directory is listed when it is read: some of these logs never were to be read.
        assert (all if where else any)(f"{path}: no such file" in ran.out for path in logs)
    assert told[0] == told[1] == (12, [[], [[0, 29] if gone == "first" else [90, 119]]])


@pytest.mark.parametrize("goes", GOES)
@pytest.mark.parametrize("command", [("diff",), ("rescue", "--as", "jsonl"), ("export",)], ids=lambda c: c[0])
def test_a_source_that_is_gone_once_the_tasks_begin_ends_no_run(
    command: tuple[str, ...], goes: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each partition it is told what could not be read of it."""
    root = three_brokers(tmp_path / "fleet")
    dirs, really = sorted(path.parent for path in root.rglob("meta.properties")), LocalDriver.run

    def late(driver: LocalDriver, *more: Any, **named: Any) -> Iterator[Any]:
        GOES[goes](dirs)
        return really(driver, *more, **named)

    monkeypatch.setattr(LocalDriver, "run", late)
    out = () if command == ("diff",) else ("--out", tmp_path / "out")
    ran = run("fleet", *command, root, *out, "--topic", "orders", "--json", "--driver", "local", code=12)
    first, second = sorted(ran.of("partition"), key=lambda line: str(line["partition"]))
    said = str([*first["doubts"], *first.get("unread", ())])
    assert f"{dirs[0]}/orders-0: no such file or directory" in said
    assert first["missing"] == ([[0, 119]] if goes == "all replicas" else [])
    assert bool(second["doubts"]) == ("disk" in goes)
    if command != ("diff",):
        whole = {
            "one replica": [120, 120],
            "a disk": [120, 120],
            "all replicas": [0, 120],
            "all disks": [0, 0],
        }
        assert [first["records"], second["records"]] == whole[goes]


@pytest.mark.parametrize("command", [("diff",), ("rescue", "--as", "jsonl"), ("export",)], ids=lambda c: c[0])
def test_a_replica_that_goes_while_it_is_read_is_one_that_cannot_be_read(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a reason to leave out what the other replicas have, nor to end the run."""
    root = three_brokers(tmp_path / "fleet")
    dirs, really = sorted(path.parent for path in root.rglob("meta.properties")), replicas.begin_runs

    def late(partition: PartitionDir, **named: Any) -> Callable[[], Replica]:
        assert partition.segments
        assert partition.partition_metadata.value
        shutil.rmtree(dirs[0] / "orders-0", ignore_errors=True)
        return really(partition, **named)

    monkeypatch.setattr(replicas, "begin_runs", late)
    out = () if command == ("diff",) else ("--out", tmp_path / "out")
    ran = run(*command, *dirs, *out, "--topic", "orders", "--json", code=12)
    first, second = ran.of("partition")
    assert (first["missing"], bool(first["doubts"]), second["doubts"]) == ([], True, [])


def test_what_ends_the_comparison_of_one_partition_is_told_of_that_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = three_brokers(tmp_path / "fleet")
    dirs, really = sorted(path.parent for path in root.rglob("meta.properties")), compared.merge

    def refused(read: Sequence[Replica], *more: Any, **named: Any) -> Merged:
        if read[0].partition == 0:
            raise Unreadable.nothing_at("a log")
        return really(read, *more, **named)

    monkeypatch.setattr(compared, "merge", refused)
    ran = run("diff", *dirs, "--topic", "orders", "--json", code=8)
    assert [(each["verdict"], each.get("reason")) for each in ran.of("partition")] == [
        ("refused", "a log: no such file or directory"), ("equal", None),
    ]  # fmt: skip


@pytest.mark.parametrize("command", [("diff",), ("rescue", "--as", "jsonl"), ("export",)], ids=lambda c: c[0])
@pytest.mark.parametrize("fleet", [(), ("fleet",)], ids=["alone", "fleet"])
def test_a_broker_that_runs_on_a_source_is_named(
    command: tuple[str, ...], fleet: tuple[str, ...], tmp_path: Path
) -> None:
    """What is read there may be older a moment later."""
    root = three_brokers(tmp_path / "fleet")
    dirs = sorted(path.parent for path in root.rglob("meta.properties"))
    driver = ("--driver", "local") if fleet else ()

    def told(out: str) -> Ran:
        into = () if command == ("diff",) else ("--out", tmp_path / out)
        return run(*fleet, *command, *dirs, *into, "--topic", "orders", *driver, "--json", code=0)

    with broker_on(dirs[1]):
        assert told("o").of("summary")[0]["running"] == [str(dirs[1])]
        if not fleet:
            into = () if command == ("diff",) else ("--out", tmp_path / "text")
            assert f"a broker runs on {dirs[1]}: " in run(*command, *dirs, *into).out
    assert told("later").of("summary")[0]["running"] == []
