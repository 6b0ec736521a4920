"""A rescue that is compacted has of each key the last record, and says of what it left alone why."""

import json
import random
import shutil
from base64 import b64decode
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.cli.run import Ran, run
from tests.copies import copy_tree
from tests.faults.on_disk import flip
from tests.golden.shared import golden
from tests.real.conftest import need_kafka
from tests.rescue.replicas import replicas
from tests.rescue.served import serving
from tests.rescue.test_gaps import cut_out
from tests.rescue.test_served import COMPLAINT, USUAL
from tests.surgery.shows.server import read

from segmend.formats.build import NewRecord, build_batch
from segmend.rescue import compact

Rows = list[dict[str, Any]]


def cleaned(rows: Rows) -> Rows:
    """What a cleaner leaves of them: by the model, the last of each key, without what was aborted."""
    below = [row for row in rows if not row["aborted"] and not row["unacknowledged"]]
    last = {row["key"]: row["offset"] for row in below}
    return [row for row in rows if row["unacknowledged"] or last.get(row["key"]) == row["offset"]]


def told(out: Path) -> dict[str, Rows]:
    """The rows of a rescue as JSON lines, without where they come from."""
    names = ("broker", "dir", "file", "position")
    return {
        path.stem: [
            {name: value for name, value in json.loads(line).items() if name not in names}
            for line in path.read_text().splitlines()
        ]
        for path in out.glob("*-*.jsonl")
    }


def alike(rows: Rows) -> list[object]:
    """Without what a log dir made of a part of a log does not tell any more."""
    return [{**row, "aborted": None, "unacknowledged": None} for row in rows]


def reconciled(line: dict[str, Any]) -> bool:
    """Whether all that was read is accounted for."""
    gone = line["compacted"]["superseded"] + line["compacted"]["aborted"]
    counted = line["records"] + line["left_out"] + line["duplicates"] + line["not_asked_for"] + gone
    return bool(line["read"] == counted)


class Rescues:
    """Rescues of some dirs, as JSON lines in the end."""

    def __init__(self, dirs: Sequence[Path], root: Path) -> None:
        self._dirs, self._root = dirs, root

    def __call__(self, name: str, *options: str, form: str = "jsonl") -> Ran:
        out = self._root / name
        return run("rescue", *self._dirs, "--out", out, "--as", form, "--json", *options)

    def rows(self, name: str) -> dict[str, Rows]:
        """Of a log dir that was rescued, by rescuing it again."""
        again = self._root / f"{name}-again"
        ran = run("rescue", self._root / name, "--out", again, "--as", "jsonl", "--json", code=0)
        assert [line["missing"] for line in ran.of("partition")] == [[] for _ in ran.of("partition")]
        return told(again)


@pytest.mark.slow
def test_of_each_key_the_last_record_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compact, "_HELD", 50)
    names = ("compacted-0", "txn-0", "nulls-0", "single-0")
    dirs = replicas(golden("4.3.1-killed"), tmp_path / "brokers", names, count=2)
    log = sorted(dirs[0].glob("compacted-0/*.log"))[-1]
    flip(log, log.stat().st_size - 1)
    rescue = Rescues(dirs, tmp_path)
    every = rescue("every")
    rows = told(tmp_path / "every")
    ran = rescue("one", "--compact")
    found = {f"{line['topic']}-{line['partition']}": line for line in ran.of("partition")}
    assert (ran.code, every.code) == (0, 0), ran.err
    assert told(tmp_path / "one")["compacted-0"] == cleaned(rows["compacted-0"])
    assert reconciled(found["compacted-0"])
    assert "nothing here says" in found["txn-0"]["compacted"]["not"]
    assert told(tmp_path / "one")["txn-0"] == rows["txn-0"]
    ran = rescue("all", "--compact-all")
    found = {f"{line['topic']}-{line['partition']}": line for line in ran.of("partition")}
    assert ran.code == 4
    compacted = told(tmp_path / "all")
    for name in names:
        if "not" in found[name]["compacted"]:
            assert "has no key" in found[name]["compacted"]["not"]
            assert compacted[name] == rows[name]
        else:
            assert compacted[name] == cleaned(rows[name]), name
            assert reconciled(found[name])
    assert found["txn-0"]["compacted"]["aborted"] == 54
    assert "not compacted: the record at offset" in (tmp_path / "all" / "_rescue.txt").read_text()
    assert rescue("dir", "--compact-all", form="log-dir").code == 4
    again = rescue.rows("dir")
    assert {name: alike(each) for name, each in again.items()} == {
        name: alike(each) for name, each in compacted.items()
    }
    ran = run("check", tmp_path / "dir", "--deep", "--json")
    assert {row["severity"] for row in ran.of("finding")} <= {"info"}, ran.out


@pytest.mark.slow
@pytest.mark.parametrize("metadata", [True, False])
def test_a_gap_in_a_log_that_is_not_compacted_makes_no_cleaner_of_it(metadata: bool, tmp_path: Path) -> None:
    """A batch that one replica lost looks as what a cleaner took; without metadata a few tell of none."""
    copy_tree(golden("4.3.1-fleet"), tmp_path / "root")
    for each in [] if metadata else tmp_path.glob("root/b*/*/__cluster_metadata-0"):
        shutil.rmtree(each)
    logs = sorted(tmp_path.glob("root/b2/*/orders-0/*.log"))[1:-1]
    for log in logs if metadata else logs[:1]:
        cut_out(log, 2)
    where = (*sorted(tmp_path.glob("root/b*/d*")), "--topic", "orders", "--as", "jsonl", "--json")
    run("rescue", *where, "--out", tmp_path / "every", code=0)
    ran = run("rescue", *where, "--out", tmp_path / "compact", "--compact", code=0)
    assert {line["compacted"].get("not") for line in ran.of("partition")} == {
        "nothing here says that its topic is compacted"
    }
    assert told(tmp_path / "compact") == told(tmp_path / "every")


def test_what_it_would_break_is_left_whole(tmp_path: Path) -> None:
    rescue = Rescues(replicas(golden("4.3.1-killed"), tmp_path / "b", ("txn-open-0",), count=1), tmp_path)
    rescue("every")
    ran = rescue("one", "--compact-all")
    assert ran.code == 4
    (line,) = ran.of("partition")
    assert "no end is known of a transaction of producer" in line["doubts"][0]
    assert told(tmp_path / "one") == told(tmp_path / "every")
    assert "the brokers compact" in rescue("two", "--compact", "--bootstrap", "x:1", form="kafka").err
    assert "looks at whole logs" in rescue("two", "--compact", "--offsets", "1..2").err


@pytest.mark.parametrize("seed", [1, pytest.param(range(2, 30), marks=pytest.mark.slow)])
def test_it_agrees_with_the_model(seed: Any, tmp_path: Path) -> None:
    for number in [seed] if isinstance(seed, int) else seed:
        root = tmp_path / str(number)
        drawn(random.Random(number), root / "d" / "t-0")
        (root / "d" / "meta.properties").write_text("version=0\nbroker.id=1\n")
        rescue = Rescues([root / "d"], root)
        assert rescue("every").code == 0
        (line,) = (ran := rescue("one", "--compact-all")).of("partition")
        assert (ran.code, reconciled(line)) == (0, True), line
        wanted = cleaned(told(root / "every")["t-0"])
        assert told(root / "one")["t-0"] == wanted
        assert rescue("dir", "--compact-all", "--kafka", "2.3", form="log-dir").code == 0
        assert alike(rescue.rows("dir")["t-0"]) == alike(wanted)
        ran = run("check", root / "dir", "--deep", "--kafka", "2.3", "--json")
        assert {row["code"] for row in ran.of("finding") if row["severity"] != "info"} <= set(), ran.out
        ends = [line["next_offset"] for name in ("every", "dir-again") for line in journal(root / name)]
        assert len(set(ends)) == 1, ends


def journal(out: Path) -> Rows:
    """Its lines of partitions."""
    lines = map(json.loads, (out / "_rescue.jsonl").read_text().splitlines())
    return [line for line in lines if line["type"] == "partition"]


def drawn(draw: random.Random, home: Path) -> None:
    """A log of a few segments: few keys, tombstones, any codec and magic."""
    home.mkdir(parents=True)
    magic, offset = draw.choice([0, 1, 2, 2, 2]), 0
    if magic == 2:
        (home / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    for _ in range(draw.randrange(1, 5)):
        base, data = offset, b""
        for _ in range(draw.randrange(1, 6)):
            records = [
                NewRecord(
                    key=b"%d" % draw.randrange(9), timestamp=1_700_000_000_000 if magic else -1,
                    value=None if draw.random() < 0.2 else draw.randbytes(draw.randrange(200)),
                )
                for _ in range(draw.randrange(1, 7))
            ]  # fmt: skip
            data += build_batch(records, base_offset=offset, magic=magic, codec=draw.choice([0, 1, 2, 3]))
            offset += len(records)
        (home / f"{base:020}.log").write_bytes(data)


@pytest.mark.broker
@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", ["4.3.1-killed", "1.1.0-killed"])
def test_the_broker_serves_what_is_left(name: str, tmp_path: Path) -> None:
    version = name.partition("-")[0]
    need_kafka(version)
    home, wanted = tmp_path / "b1", dict[str, Rows]()
    home.mkdir()
    for source in sorted(golden(name).glob("b1/d*")):
        run("rescue", source, "--out", tmp_path / source.name, "--as", "jsonl")
        ran = Rescues([source], home)(source.name, "--compact-all", form="log-dir")
        for line in ran.of("partition"):
            if "superseded" in line["compacted"] and line["topic"][0] != "_":
                each = f"{line['topic']}-{line['partition']}"
                wanted[each] = cleaned(told(tmp_path / source.name)[each])
    with serving(version, home, tmp_path) as broker:
        seen = read(broker, SimpleNamespace(root=tmp_path), set(wanted))  # type: ignore[arg-type]
        said = [line for line in broker.lines() if COMPLAINT.search(line) and not USUAL.search(line)]

    def hexed(text: str | None) -> str | None:
        return None if text is None else b64decode(text).hex()

    assert len(wanted) > 5
    for each, rows in wanted.items():
        found = [(row["offset"], row["key"], row["value"]) for row in seen.get(each, [])]
        assert found == [(row["offset"], hexed(row["key"]), hexed(row["value"])) for row in rows], each
    assert not said
