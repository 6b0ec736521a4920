"""Base offsets that are wrong at the end of logs, where no batch follows: put right where something tells.

A recovery point of a clean stop, or an index entry, says which offset is the right one; without either
nothing is claimed. Then the broker of that release serves every record at the offset at which it was written.
"""

import shutil
import struct
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.checks.build_partition import PartitionWriter
from tests.cli.run import Ran
from tests.faults.hands import positions
from tests.faults.written import one
from tests.golden.shared import golden
from tests.seeds import SEED, sampled, some_of
from tests.surgery.patient import PatientOf
from tests.surgery.shows.bed import Bed
from tests.surgery.shows.server import read, running, written

pytestmark = pytest.mark.usefixtures("no_other_processes")

JUMPS = (1, 2, 3, 5, 16, 1000, 4096, 40_000, -1, -3, -20)
GOLDENS = [f"{release}-{stop}" for release in ("4.3.1", "2.8.2", "1.1.0") for stop in ("clean", "killed")]


def offset_at(data: bytes, position: int) -> int:
    return int(struct.unpack_from(">q", data, position)[0])


def moved(sound: bytes, draw: Random) -> bytes:
    """One to four of the last batches at other offsets, by the same number or not."""
    hurt, places = bytearray(sound), positions(sound)
    jump, same = draw.choice(JUMPS), draw.random() < 0.5
    for place in places[-draw.randint(1, min(4, len(places) - 2)) :]:
        struct.pack_into(">q", hurt, place, offset_at(sound, place) + (jump if same else draw.choice(JUMPS)))
    return bytes(hurt)


def is_wrapped(data: bytes) -> bool:
    """Whether it has compressed messages of old, of which no header says how many offsets they take."""
    return any(data[place + 16] < 2 and data[place + 17] & 7 for place in positions(data))


def active_logs(bed: Bed) -> list[Path]:
    """Of partitions with four batches or more."""
    homes = [path for log_dir in bed.dirs for path in sorted(log_dir.glob("*-[0-9]*")) if not path.suffix]
    logs = [max(path.glob("*.log")) for path in homes if path.is_dir() and path.name[:2] != "__"]
    return [log for log in logs if log.stat().st_size and len(positions(log.read_bytes())) > 3]


def mended(bed: Bed, seed: int) -> dict[Path, tuple[bytes, bytes]]:
    """Logs hurt, and what repair can be done; each as it was, and as it was hurt."""
    draw, logs = Random(f"{seed} {bed.golden} ends"), {}
    for log in active_logs(bed):
        sound = log.read_bytes()
        hurt = moved(sound, draw)
        with open(log, "r+b") as file:
            file.write(hurt)
        logs[log] = sound, hurt
    ran = bed.run("plan", "repair", *bed.dirs, "--kafka", bed.version, "-o", bed.plan_file)
    assert ran.code in (0, 4), ran
    done = bed.run("apply", bed.plan_file, "--yes", "--state-dir", bed.state)
    assert done.code in (1, 5), done
    return logs


def wrong_proofs(logs: dict[Path, tuple[bytes, bytes]]) -> list[str]:
    """Batches that are neither where they were nor as they were hurt."""
    return [
        f"{log}: {place}"
        for log, (sound, hurt) in logs.items()
        for place in positions(sound)
        if offset_at(log.read_bytes(), place) not in (offset_at(sound, place), offset_at(hurt, place))
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", GOLDENS)
def test_what_something_tells_is_put_right_and_nothing_else(name: str, tmp_path: Path) -> None:
    right = 0
    for seed in range(SEED, SEED + sampled(20, 1)):
        shutil.rmtree(tmp_path / "case", ignore_errors=True)
        (tmp_path / "case").mkdir()
        logs = mended(Bed(name, golden(name), tmp_path / "case"), seed)
        assert wrong_proofs(logs) == []
        left = {log.parent.name for log, (sound, _) in logs.items() if log.read_bytes() != sound}
        if name.endswith("-clean"):
            assert left == {log.parent.name for log, (sound, _) in logs.items() if is_wrapped(sound)}
        right += len(logs) - len(left)
    assert right > 0


@pytest.mark.broker
@pytest.mark.xdist_group("broker")
@pytest.mark.parametrize("golden_name", some_of(GOLDENS, 3, SEED))
def test_a_broker_serves_them_where_they_were_written(golden_name: str, tmp_path: Path) -> None:
    bed = Bed(golden_name, golden(golden_name), tmp_path)
    logs = mended(bed, SEED)
    for log, (sound, _) in logs.items():
        if log.read_bytes() != sound:  # nothing told
            shutil.copy2(bed.other(log.parent.name) / log.name, log)
            shutil.chown(log, *(log.parent.stat().st_uid, log.parent.stat().st_gid))
    whole = written(golden_name)
    with running(bed) as broker:
        rows = read(broker, bed, {*whole})
    for name in (log.parent.name for log in logs):
        served, more = rows[name][: len(whole[name])], rows[name][len(whole[name]) :]
        assert served == whole[name], name
        # What came after somebody last consumed it before the kill.
        first = whole[name][-1]["offset"] + 1
        assert [row["offset"] for row in more] == [*range(first, first + len(more))], name


def ending(count: int) -> PartitionWriter:
    """A log of so many batches of two records, each of them with an entry in the index."""
    writer = PartitionWriter("t")
    writer.interval = 1
    for _ in range(count):
        writer.append(2)
    return writer


def at_end(count: int, jump: int) -> Any:
    """The last batches moved."""

    def hurt(patient: Any) -> None:
        def moved(data: bytes) -> bytes:
            out = bytearray(data)
            for place in positions(data)[-count:]:
                struct.pack_into(">q", out, place, offset_at(data, place) + jump)
            return bytes(out)

        patient.log("active", moved)

    return hurt


def told(ran: Ran) -> list[tuple[str, str]]:
    return [(row["code"], row["remedy"]["command"].split()[2]) for row in ran.of("finding") if row["remedy"]]


@pytest.mark.parametrize(("count", "jump"), [(1, 3), (2, 1), (40, 7), (40, -1)])
def test_a_run_at_the_end_is_mended_at_once(count: int, jump: int, patient_of: PatientOf) -> None:
    patient = patient_of(at_end(count, jump), base=one(lambda: ending(60)))
    sound = (patient.other / "t-0").glob("*.log")
    found = told(patient.run("check", *patient.dirs, "--json", "--max", 0))
    assert {how for _, how in found} == {"repair"}, found
    assert patient.mend().code == 0
    assert patient.run("apply", patient.plan_file, "--yes", "--state-dir", patient.state).code == 1
    assert [log.read_bytes() for log in sorted((patient.dirs[0] / "t-0").glob("*.log"))] == [
        log.read_bytes() for log in sorted(sound)
    ]
    assert told(patient.run("check", *patient.dirs, "--json")) == []
