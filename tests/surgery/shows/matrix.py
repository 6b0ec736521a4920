"""All operations on a golden directory, each alone or one after the other, and what the broker says then."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.golden.judge import CORRUPT
from tests.memory import another_disk, prefix
from tests.surgery.shows import composed, damages, leftovers, metadata, names, places, server
from tests.surgery.shows.bed import Asked, Bed, Case, Refused, operate, operate_for_good, stage
from tests.surgery.story import plans_read_once

CASES: Sequence[Case] = (
    *damages.CASES, *leftovers.CASES, *metadata.CASES, *places.CASES, *names.CASES
)  # fmt: skip


@contextmanager
def another_place(root: Path) -> Iterator[Path | None]:
    """A directory on another file system, if there is one."""
    if (disk := another_disk(root)) is None:
        yield None
        return
    place = Path(tempfile.mkdtemp(prefix=prefix("disk"), dir=disk))
    try:
        yield place
    finally:
        shutil.rmtree(place)


def cases_of(golden: str) -> list[Case]:
    """Those that this golden directory has; of a killed one those that are something else there."""
    number = tuple(map(int, golden.partition("-")[0].split(".")))
    return [
        case for case in CASES
        if case.why_not(number) is None and (case.killed or not golden.endswith("-killed"))
    ]  # fmt: skip


def refusal(golden: str, case: Case) -> str | None:
    """The words with which it is to be refused there."""
    return next((words for name, words in case.refusals.items() if golden.startswith(name)), None)


def alone(golden: str, whole: Path, root: Path, case: Case, *, start: bool) -> str:
    """One operation on a fresh copy: `ok`, or why it is rightly refused; raises AssertionError."""
    with another_place(root) as spare:
        bed = Bed(golden, whole, root, spare)
        wanted = refusal(golden, case)
        try:
            asked = (operate_for_good if start else operate)(bed, case)
        except Refused as refused:
            if wanted is None or wanted not in str(refused):
                raise AssertionError(f"refused: {refused}") from None
            return f"refused: {wanted}"
        assert wanted is None, f"not refused: {wanted}"
        if start:
            with stage("broker"):
                judge(bed, [asked])
        return "ok"


def together(golden: str, whole: Path, root: Path, *, start: bool) -> list[str]:
    """All operations one after the other on one copy, then a start if it is asked for; their names."""
    chosen = [*composed.CASES, *(case for case in cases_of(golden) if refusal(golden, case) is None)]
    with another_place(root) as spare, plans_read_once():
        bed = Bed(golden, whole, root, spare)
        done = []
        for case in chosen:
            with stage(case.name):
                done.append(operate_for_good(bed, case))
        if start:
            judge(bed, done)
    return [case.name for case in chosen]


ENDED_LATER = "__transaction_state-"
"""A broker writes there some ten seconds after its start: it aborts transactions whose time is over."""


def judge(bed: Bed, done: Sequence[Asked]) -> None:
    """Start the broker: it says nothing of indexes, leaves all where it was put, serves all records."""
    put = {name: log_dir.name for log_dir in bed.dirs for name in places.served(log_dir)}
    moving = {path.name.partition(".")[0] for log_dir in bed.dirs for path in log_dir.glob("*-future")}
    gone: dict[str, frozenset[int]] = {}
    for asked in done:
        for name, offsets in asked.gone.items():
            gone[name] = gone.get(name, frozenset()) | offsets
    deleted = {name for asked in done for name in asked.deleted}
    closed = bed.golden.endswith("-clean")
    with server.running(bed) as broker:
        wanted = {
            name: [row for row in rows if row["offset"] not in gone.get(name, ()) and name not in deleted]
            for name, rows in server.written(bed.golden).items()
        }
        seen = server.read(broker, bed, set(wanted))
        # A killed one got more between that look and its death.
        whole = {name for name in wanted if closed and not name.startswith(ENDED_LATER)}
        differs = [
            name for name, rows in wanted.items()
            if seen.get(name, [])[: None if name in whole else len(rows)] != rows
        ]  # fmt: skip
        assert not differs, f"not served as they were written: {differs}"
        said = [line for line in broker.lines() if CORRUPT.search(line)]
        assert not said or not closed, said
        found = {name: log_dir.name for log_dir in bed.dirs for name in places.served(log_dir)}
        elsewhere = {name for name, _ in found.items() ^ put.items()} - moving - deleted
        assert not elsewhere, f"the broker put them elsewhere: {elsewhere}"
        if any(asked.moved for asked in done) and bed.release >= (1, 1):
            told = {
                name: place
                for name, place in server.places(broker, bed.root).items()
                if name not in moving | deleted
            }
            assert {name: put.get(name) for name in told} == told, "kafka-log-dirs sees them elsewhere"
            assert len(told) > len(put) // 2
