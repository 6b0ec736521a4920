"""Records of batches whose checksum fails: marked, where nobody has them sound, true before the damage."""

import csv
import json
import random
from pathlib import Path
from typing import Any

import pytest
from tests.cli.run import run
from tests.faults.on_disk import batches_of, flip
from tests.golden.shared import golden
from tests.rescue.replicas import replicas, told

from segmend.formats.build import NewRecord, build_batch
from segmend.formats.record import decode

NAMES = ("codec-none-0", "codec-zstd-0", "idem-0", "txn-0")


def spans(rows: list[list[int]]) -> set[int]:
    """The offsets in them."""
    return {offset for first, last in rows for offset in range(first, last + 1)}


def flipped(dirs: list[Path], draw: random.Random) -> dict[str, dict[int, bool]]:
    """Hurt one replica of many batches, all of few; of offsets hurt on all: whether all flips are behind."""
    found: dict[str, dict[int, bool]] = {}
    for log in sorted(dirs[0].glob("*/*.log")):
        data = log.read_bytes()
        batches = batches_of(log)
        for batch in batches:
            many = draw.random() < 0.3
            places = []
            for each in dirs if many else [draw.choice(dirs)]:
                places.append(draw.randrange(batch.position + 17, batch.end))
                flip(each / log.parent.name / log.name, places[-1])
            if many:
                records, _ = decode(data[batch.position : batch.end], batch)
                whole = found.setdefault(log.parent.name, {})
                for record in records:
                    behind = batch.position + record.position + record.size <= min(places)
                    whole[record.offset] = behind and not batch.codec
    return found


@pytest.mark.parametrize("seed", range(1))
def test_salvaged_records_are_marked_and_true_before_the_flip(seed: int, tmp_path: Path) -> None:
    judge(seed, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 112))
def test_salvaged_records_of_more_seeds(seed: int, tmp_path: Path) -> None:
    judge(seed, tmp_path)


def judge(seed: int, tmp_path: Path) -> None:
    """What is sound is as it is without the option; what is salvaged is marked, and true before the flips."""
    dirs = replicas(golden("4.3.1-killed"), tmp_path, NAMES)
    run("rescue", dirs[0], "--out", tmp_path / "whole", "--as", "jsonl")
    hurt = flipped(dirs, random.Random(seed))
    plain = run("rescue", *dirs, "--out", tmp_path / "sound", "--as", "jsonl", "--json")
    ran = run("rescue", *dirs, "--out", tmp_path / "out", "--as", "jsonl", "--salvage", "--json", code=4)
    whole, sound, out = (told(tmp_path / each) for each in ("whole", "sound", "out"))
    for row, without in zip(ran.of("partition"), plain.of("partition"), strict=True):
        name = f"{row['topic']}-{row['partition']}"
        marked = {each["offset"]: each for each in out[name] if each["salvaged"]}
        every = [{k: v for k, v in each.items() if k != "salvaged"} for each in out[name]]
        assert [each for each in every if each["offset"] not in marked] == sound[name]
        assert [each["offset"] for each in every] == sorted({each["offset"] for each in every})
        assert spans(row["salvaged"]) == marked.keys() <= spans(row["missing"])
        truth = {each["offset"]: each for each in whole[name]}
        for offset, certain in hurt.get(name, {}).items():
            if certain:
                same = ("offset", "timestamp", "key", "value", "headers")
                assert {k: marked[offset][k] for k in same} == {k: truth[offset][k] for k in same}
        assert row["records"] == len(out[name])
        counts = ("missing", "not_asked_for", "duplicates", "sources", "conflicts", "diverged")
        assert {each: row[each] for each in counts} == {each: without[each] for each in counts}
    assert ran.of("summary")[0]["salvaged"] > 0


def test_the_mark_in_every_form_and_where_it_is_refused(tmp_path: Path) -> None:
    (source,) = replicas(golden("4.3.1-killed"), tmp_path, ("codec-none-0",), count=1)
    log = next(source.glob("*/*.log"))
    batch = batches_of(log)[1]
    flip(log, batch.end - 2)
    span = set(range(batch.base_offset, batch.last_offset + 1))

    def rescued(form: str) -> Path:
        ran = run("rescue", source, "--out", tmp_path / form, "--as", form, "--salvage")
        assert (ran.code, ran.out.count("salvaged: of these")) == (4, 1), ran.err
        return tmp_path / form

    rows: dict[str, list[dict[str, Any]]] = {}
    lines = (rescued("jsonl") / "codec-none-0.jsonl").read_text().splitlines()
    rows["jsonl"] = [json.loads(line) for line in lines]
    with (rescued("csv") / "codec-none-0.csv").open() as file:
        rows["csv"] = [
            {"offset": int(each["offset"]), "salvaged": each["salvaged"] == "true"}
            for each in csv.DictReader(file)
        ]
    parquet = pytest.importorskip("pyarrow.parquet")
    rows["parquet"] = parquet.read_table(rescued("parquet") / "codec-none-0.parquet").to_pylist()
    for found in rows.values():
        assert {each["offset"] for each in found if each["salvaged"]} == span
        assert len(found) == len(rows["jsonl"]) > len(span)
    for form in ("log-dir", "kafka"):
        ran = run("rescue", source, "--out", tmp_path / "no", "--as", form, "--salvage")
        assert (ran.code, ran.err.count("\n"), "as a table beside it" in ran.err) == (16, 1, True)


def test_a_batch_that_breaks_off_within_its_header_gives_nothing(tmp_path: Path) -> None:
    for magic in (1, 2):
        home = tmp_path / f"{magic}" / "t-0"
        home.mkdir(parents=True)
        built = [build_batch([NewRecord(value=b"v" * 9)], base_offset=at, magic=magic) for at in range(3)]
        (home / f"{0:020}.log").write_bytes(built[0] + built[1][:23] + built[2])
        out = tmp_path / f"out{magic}"
        ran = run("rescue", home, "--out", out, "--as", "jsonl", "--salvage", "--json")
        (row,) = ran.of("partition")
        assert (ran.code, row["missing"], row["salvaged"], row["records"]) == (4, [[1, 1]], [], 2), ran.err
