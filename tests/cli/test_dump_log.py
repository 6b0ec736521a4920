"""docs/kafka-dump-log.md: for each flag of kafka-dump-log, segmend tells the same facts of a golden.

The decoders of share groups and tiered storage: tests/topics/test_vectors.py.
"""

import json
import re
import shlex
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest
from tests.cli.run import run
from tests.conftest import expected
from tests.faults.on_disk import lengthen
from tests.golden.shared import golden

from segmend.cli.main import main
from segmend.formats.build import NewRecord, build_batch

Capsys = pytest.CaptureFixture[str]
NAME = "4.3.1-clean"
FILES: dict[str, dict[str, Any]] = expected(NAME)["files"]
PAGE = Path(__file__).resolve().parents[2] / "docs" / "kafka-dump-log.md"
FLAGS = [
    *("--files", "--deep-iteration", "--print-data-log", "--skip-record-metadata"),
    *("--key-decoder-class", "--value-decoder-class", "--verify-index-only", "--index-sanity-check"),
    *("--max-bytes", "--max-message-size", "--offsets-decoder", "--transaction-log-decoder"),
    *("--cluster-metadata-decoder", "--share-group-state-decoder", "--remote-log-metadata-decoder"),
]


def log_of(topic: str) -> tuple[str, dict[str, Any]]:
    """The dumped log of this topic that has the most batches."""
    found = [(n, d) for n, d in FILES.items() if n.endswith(".log") and f"/{topic}-" in n and "batches" in d]
    return max(found, key=lambda pair: len(pair[1]["batches"]))


def indexed_log(minimum: int = 3) -> str:
    """The index of a partition with some entries, not of an internal topic."""
    return next(
        name
        for name, dumped in FILES.items()
        if name.endswith(".index") and "/__" not in name and len(dumped.get("entries", [])) >= minimum
    )


def rows(page: str) -> list[tuple[str, str]]:
    """The rows of the table: the cell of flags, and the command."""
    cells = (re.split(r"(?<!\\)\|", line)[1:3] for line in page.splitlines() if line.startswith("| `--"))
    found = [(used, re.search(r"`(segmend [^`]+)`", do)) for used, do in cells]
    return [(used, match[1]) for used, match in found if match]


def test_the_page_has_a_row_for_every_flag() -> None:
    told = re.findall(r"`(--[a-z-]+)", " ".join(used for used, _ in rows(PAGE.read_text())))
    assert told == FLAGS


@pytest.mark.parametrize(("used", "command"), rows(PAGE.read_text()))
def test_each_command_of_the_page_runs(
    used: str, command: str, tmp_path: Path, capsys: Capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a directory with these names."""
    source = golden(NAME) / "b1"
    log = (golden(NAME) / indexed_log()).with_suffix(".log")
    for name in ("A.log", "B.log"):
        shutil.copy(log, tmp_path / name)
    shutil.copytree(log.parent, tmp_path / "orders-0")
    for partition in re.findall(r"__\w+-0", command):
        there = [path for path in source.glob(f"d*/{partition}") if path.is_dir()]
        shutil.copytree(there[0], tmp_path / partition) if there else (tmp_path / partition).mkdir()
    monkeypatch.chdir(tmp_path)
    program, *arguments = shlex.split(command.replace("0..M", "0..1000"))
    assert (program, main(arguments)) == ("segmend", 0)
    capsys.readouterr()


def test_files() -> None:
    names = [log_of("txn")[0], log_of("single")[0]]
    ran = run("show", *(golden(NAME) / name for name in names), "--json")
    assert len(ran.of("file")) == 2
    assert len(ran.of("batch")) == sum(len(FILES[name]["batches"]) for name in names)


def test_deep_iteration_and_print_data_log() -> None:
    name, dumped = log_of("codec-zstd")
    shown = run("show", golden(NAME) / name, "--records", "--as", "hex", "--json").of("record")
    facts = ("offset", "timestamp", "sequence", "key", "value")
    ours = [[row[fact] for fact in facts] for row in shown]
    assert ours == [[row.get(fact) for fact in facts] for row in dumped["records"]]


def test_skip_record_metadata() -> None:
    name, dumped = log_of("codec-none")
    shown = run("show", golden(NAME) / name, "--records", "--full", "--json").of("record")
    texts = [bytes.fromhex(row["value"]) for row in dumped["records"] if row.get("value")]
    assert [as_bytes(row["value"]) for row in shown if row["value"]] == texts


def as_bytes(value: Any) -> bytes:
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) else str(value).encode()


@pytest.mark.parametrize("kind", ["text", "hex", "json"])
def test_decoder_classes(kind: str, tmp_path: Path) -> None:
    log = tmp_path / f"{0:020d}.log"
    log.write_bytes(build_batch([NewRecord(b'{"a": 1}', key=b"k")]))
    (row,) = run("show", log, "--records", "--as", kind, "--json").of("record")
    wanted = {"text": ("k", '{"a": 1}'), "hex": ("6b", b'{"a": 1}'.hex()), "json": ("k", {"a": 1})}
    assert (row["key"], row["value"]) == wanted[kind]


def copied(tmp_path: Path) -> Path:
    """The index of a copy of one partition."""
    name = indexed_log()
    shutil.copytree((golden(NAME) / name).parent, tmp_path / Path(name).parent.name)
    return tmp_path / Path(name).parent.name / Path(name).name


def told(*arguments: object) -> list[str]:
    return [str(row["file"]) for row in run("check", *arguments, "--json").of("finding")]


def test_verify_index_only(tmp_path: Path) -> None:
    """Kafka's dump says "Mismatches in" of an entry that leads to another batch."""
    index = copied(tmp_path)
    assert told(index) == []
    content = bytearray(index.read_bytes())
    first, second = (struct.unpack_from(">ii", content, at) for at in (0, 8))
    struct.pack_into(">i", content, 4, (first[1] + second[1]) // 2)
    index.write_bytes(content)
    assert any(file.endswith(".index") for file in told(index))


def test_index_sanity_check(tmp_path: Path) -> None:
    """`OffsetIndex.sanityCheck`: the length is a multiple of 8."""
    index = copied(tmp_path)
    arguments = ("check", "--startup", "--kafka", "2.2", index.parent, "--json")
    assert run(*arguments).of("finding") == []
    lengthen(index, b"\0\0\1")
    (finding,) = run(*arguments).of("finding")
    assert finding["code"] == "I25"
    assert "neither positive nor a multiple of 8" in finding["message"]


def test_max_bytes() -> None:
    name, dumped = log_of("txn")
    third = dumped["batches"][2]
    last = third["position"] + third["size"] - 1
    shown = run("show", golden(NAME) / name, "--position", f"0..{last}", "--json").of("batch")
    assert [row["position"] for row in shown] == [row["position"] for row in dumped["batches"][:3]]


def test_max_message_size(tmp_path: Path) -> None:
    """Kafka's default of 5 MiB fails on the larger batch that an entry leads to."""
    small = build_batch([NewRecord(b"v", timestamp=1)])
    large = build_batch([NewRecord(bytes(6 << 20), timestamp=2)], base_offset=1)
    root = tmp_path / "t-0"
    root.mkdir()
    (root / f"{0:020d}.log").write_bytes(small + large)
    (root / f"{0:020d}.index").write_bytes(struct.pack(">ii", 1, len(small)))
    assert not [file for file in told(root) if file.endswith(".index")]
    rows = run("show", root / f"{0:020d}.log", "--json").of("batch")
    assert [row["is_valid"] for row in rows] == [True, True]


@pytest.mark.parametrize("topic", ["__consumer_offsets", "__transaction_state", "__cluster_metadata"])
def test_decoders(topic: str) -> None:
    name, lines = next((n, found) for n, found in expected(NAME)["decoded"].items() if f"/{topic}-" in n)
    shown = run("show", golden(NAME) / name, "--records", "--json").of("record")
    decoded = {row["offset"]: row["decoded"] for row in shown if "decoded" in row}
    assert len(decoded) >= len(lines) > 4
    for line in lines:
        payload = line.partition(" payload: ")[2]
        offset = int(line.partition("offset: ")[2].split()[0])
        assert decoded[offset]["value"] == (None if payload == "<DELETE>" else json.loads(payload))


@pytest.mark.parametrize(
    ("suffix", "type", "facts"),
    [
        (".index", "index-entry", {0: "offset", 1: "position"}),
        (".timeindex", "timeindex-entry", {0: "timestamp", 1: "offset"}),
    ],
)
def test_index_entries(suffix: str, type: str, facts: dict[int, str]) -> None:
    name = indexed_log().replace(".index", suffix)
    shown = run("show", golden(NAME) / name, "--json").of(type)
    ours = [[row[fact] for fact in facts.values()] for row in shown]
    assert ours == [entry for entry in FILES[name]["entries"] if entry != [0, 0]]


@pytest.mark.parametrize("suffix", [".txnindex", ".snapshot"])
def test_the_other_files(suffix: str) -> None:
    """Aborted transactions and producer states: every number that Kafka prints is there."""
    name, dumped = next((n, d) for n, d in FILES.items() if n.endswith(suffix) and d.get("entries"))
    shown = run("show", golden(NAME) / name, "--json").json
    for entry in dumped["entries"]:
        (row,) = [row for row in shown if row.get("producer_id") == entry["producerId"]]
        theirs = {re.sub("([A-Z])", r"_\1", name).lower(): value for name, value in entry.items()}
        assert {name: row[name] for name in theirs.keys() & row.keys()} == {
            name: theirs[name] for name in theirs.keys() & row.keys()
        }
        assert len(theirs.keys() & row.keys()) >= 4
