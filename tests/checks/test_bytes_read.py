"""However a log is hurt, `check --deep` and the forecast of its start read it at most twice.

For the rows of the damage tables `test_damages` says so; here are logs larger than what is kept in
memory, and the faults that were tried on real brokers.
"""

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from struct import pack

import pytest
from tests.brokers import broker_of
from tests.checks.build_metadata import cluster
from tests.faults.patient import lonely_topic, patient_in
from tests.faults.written import with_metadata
from tests.golden.unpack import unpack
from tests.lab.test_verdicts import archive, recorded
from tests.traffic import Traffic, counted

from segmend.checks import CheckRun, Level
from segmend.formats.build import NewRecord, build_batch
from segmend.kernel.types import WINDOW
from segmend.logdir.second_looks import SMALL

TIME = 1_760_000_000_000
EACH = 6
"""One fault of so many."""
BATCHES = 2 * SMALL // (64 << 10) * 3
Change = Callable[[bytearray, list[int]], None]


def flipped(*at: tuple[int, int]) -> Change:
    """One bit in the byte of that number of the n-th batch."""

    def change(data: bytearray, starts: list[int]) -> None:
        for number, byte in at:
            data[starts[number] + byte] ^= 1

    return change


def hole(data: bytearray, starts: list[int]) -> None:
    data[starts[20] + 100 : starts[22] + 50] = bytes(starts[22] - starts[20] - 50)


def torn(data: bytearray, _starts: list[int]) -> None:
    del data[-1000:]


FAULTS: dict[str, Change] = {
    "none": lambda _data, _starts: None,
    "two checksums": flipped((40, 200), (60, 300)),
    "first and last": flipped((0, 200), (BATCHES - 1, 300)),
    "size": flipped((30, 9)),
    "magic": flipped((30, 16)),
    "epoch": flipped((30, 14)),
    "offset": flipped((30, 6)),
    "offset and checksum": flipped((30, 7), (50, 100)),
    "hole": hole,
    "torn": torn,
}

REPLAYED = {"magic": 3, "offset and checksum": 4.5}
"""Times that a log is read which a recovery takes differently than a scan: batch by batch, as the broker."""


def large_log(root: Path, change: Change, *, clean: bool, active: bool) -> Path:
    """A partition whose first segment is hurt, and larger than what is kept; with a second one or not."""
    folder = root / "t-0"
    folder.mkdir(parents=True)
    record = bytes(range(256)) * 16
    batches = [
        build_batch([NewRecord(record, timestamp=TIME + n * 16 + k) for k in range(16)], base_offset=n * 16)
        for n in range(BATCHES)
    ]
    starts = [sum(map(len, batches[:n])) for n in range(BATCHES)]
    data = bytearray(b"".join(batches))
    change(data, starts)
    log = folder / f"{0:020d}.log"
    log.write_bytes(data)
    assert len(data) > 3 * SMALL
    entries = [(n * 16 + 15, at) for n, at in enumerate(starts) if at]
    (folder / f"{0:020d}.index").write_bytes(b"".join(pack(">ii", *entry) for entry in entries))
    (folder / f"{0:020d}.timeindex").write_bytes(
        b"".join(pack(">qi", TIME + offset, offset) for offset, _ in entries)
    )
    end = BATCHES * 16
    if not active:
        (folder / f"{end:020d}.log").write_bytes(
            build_batch([NewRecord(b"v", timestamp=TIME)], base_offset=end)
        )
        (folder / f"{end:020d}.index").touch()
        (folder / f"{end:020d}.timeindex").touch()
    point = end if clean else 0
    (root / "recovery-point-offset-checkpoint").write_text(f"0\n1\nt 0 {point}\n")
    (folder / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ")
    (root / "replication-offset-checkpoint").write_text(f"0\n1\nt 0 {end}\n")
    if clean:
        (root / ".kafka_cleanshutdown").touch()
    return log


def checked(dirs: list[Path], level: Level = Level.DEEP) -> Traffic:
    with counted() as traffic:
        list(CheckRun(broker_of(dirs, "4.3"), level=level))
    return traffic


@pytest.mark.parametrize("active", [False, True], ids=["rolled", "active"])
@pytest.mark.parametrize("clean", [True, False], ids=["clean", "killed"])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_large_log_is_read_at_most_twice(fault: str, clean: bool, active: bool, tmp_path: Path) -> None:
    log = large_log(tmp_path, FAULTS[fault], clean=clean, active=active)
    traffic = checked([tmp_path])
    size = log.stat().st_size
    times = 2 if clean else REPLAYED.get(fault, 2)
    # A short look may cost a whole window.
    assert traffic.read[str(log)] <= times * size + 2 * WINDOW
    assert traffic.opens[str(log)] <= 7


@pytest.mark.parametrize(("clean", "times"), [(True, 2), (False, 1)], ids=["clean", "killed"])
@pytest.mark.parametrize("last", [(1 << 30, 1 << 30), (BATCHES * 16 - 1, 77)], ids=["beyond", "no batch"])
def test_a_wrong_last_entry_of_an_index_costs_no_walk_through_the_log(
    last: tuple[int, int], clean: bool, times: int, tmp_path: Path
) -> None:
    """At startup level: only to know whether the log is sound of which an index is to be made."""
    log = large_log(tmp_path, FAULTS["none"], clean=clean, active=True)
    index = log.with_suffix(".index")
    index.write_bytes(index.read_bytes()[:-8] + pack(">ii", *last))
    traffic = checked([tmp_path], Level.STARTUP)
    assert traffic.read[str(log)] <= times * log.stat().st_size + 4 * WINDOW


NO_HELP: dict[str, Callable[[int], bytes | None]] = {
    "missing": lambda _size: None,
    "beyond": lambda size: b"\x7f" * size,
    "backwards": lambda size: b"\xff" * size,
    "between batches": lambda size: b"".join(pack(">ii", row + 1, 3 * row + 1) for row in range(size // 8)),
    "random": lambda size: random.Random(2).randbytes(size),
}
"""Indexes of which no entry leads anywhere, by their size."""


@pytest.mark.parametrize("release", ["4.3", "1.1"])
@pytest.mark.parametrize("clean", [True, False], ids=["clean", "killed"])
@pytest.mark.parametrize("what", NO_HELP)
def test_a_log_without_any_index_that_helps_is_read_at_most_twice(
    what: str, clean: bool, release: str, tmp_path: Path
) -> None:
    """At startup level: once for its end and for whether it is sound, once as the start walks through it."""
    log = large_log(tmp_path, FAULTS["none"], clean=clean, active=True)
    index = log.with_suffix(".index")
    garbage = NO_HELP[what](index.stat().st_size)
    index.unlink() if garbage is None else index.write_bytes(garbage)
    with counted() as traffic:
        codes = {each.code for each in CheckRun(broker_of([tmp_path], release), level=Level.STARTUP)}
    assert codes - {"C13"}
    assert traffic.read[str(log)] <= 2 * log.stat().st_size + 4 * WINDOW
    assert traffic.opens[str(log)] <= 5


@pytest.mark.slow
@pytest.mark.parametrize("name", ["4.3.1-clean", "4.3.1-killed", "2.8.2-killed"])
def test_logs_of_real_brokers_are_read_at_most_twice(name: str, tmp_path: Path) -> None:
    base, root = unpack(archive(name), tmp_path / "base"), tmp_path / "hurt"
    for fault in recorded(name)[::EACH]:
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(base, root, symlinks=True)
        patient = patient_in(root, lonely_topic(root))
        fault.hurt(patient)
        traffic = checked([path for path in patient.dirs if path.is_dir()])
        for path in traffic.logs():
            assert traffic.times_read(path) <= 2, (fault.name, path)


def test_snapshots_of_a_node_with_metadata_are_opened_once(tmp_path: Path) -> None:
    dirs = with_metadata(cluster(["t", "u"], following=9))(tmp_path, True)
    with counted() as traffic:
        found = {each.code for each in CheckRun(broker_of(dirs, "4.3"), level=Level.STARTUP)}
    assert "K25" in found
    assert {n for path, n in traffic.opens.items() if path.endswith(".snapshot")} == {1}
