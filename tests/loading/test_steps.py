"""What a forecast asks grows with the directories, not with their square: counted in steps, not in time."""

import gc
import os
import sys
import tracemalloc
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from tests.checks.build_partition import write_log_dir
from tests.faults.written import plain

from segmend.formats import partition_metadata
from segmend.loading import ForecastOptions, forecast
from segmend.logdir.log_dir import LogDir
from segmend.node.broker_dirs import BrokerDirs

FEW, MANY = 20, 80
# Four times the directories may take up to eight times the steps (caches fill); a square takes sixteen.
LEEWAY = 2
LONG_AFTER = 1 << 42
"""All that is there has been due for retention, whose clock is read of each segment (ms)."""


def told_of(where: Path, count: int) -> Callable[[], int]:
    """A forecast of so many plain partitions, to be run; each has a future one beside it."""
    partition_metadata.parse.cache_clear()  # it may know these topics from the tests before this one
    names = [f"orders{number}" for number in range(count)]
    log_dir = write_log_dir(where, [plain(name) for name in names])
    for name in names:
        (log_dir / f"{name}-0.{'0' * 32}-future").mkdir()
    broker = BrokerDirs([LogDir.open(str(log_dir))])
    return lambda: len(list(forecast(broker, ForecastOptions(whose=True, now_ms=LONG_AFTER))))


def steps(where: Path, count: int) -> Counter[str]:
    """Lines each function runs, with each turn of a loop, in a forecast of so many partitions."""
    run, seen = told_of(where, count), Counter[str]()

    def note(frame: FrameType, event: str, _: object) -> Any:
        if event == "line":
            seen[f"{frame.f_code.co_filename}:{frame.f_code.co_qualname}"] += 1
        return note

    before = sys.gettrace()
    gc.collect()  # What tests before this one left goes now, not amid these steps.
    gc.disable()
    sys.settrace(note)
    try:
        told = run()
    finally:
        sys.settrace(before)
        gc.enable()
    assert told > count
    return seen


def room(where: Path, count: int) -> Counter[str]:
    """Bytes that the lines of each function in loading/ took for a moment, added up: what one expression
    goes through by itself, such as a union of two sets, is no line."""
    run, seen = told_of(where, count), Counter[str]()
    here = [""]

    def note(frame: FrameType, event: str, _: object) -> Any:
        seen[here[0]] += tracemalloc.get_traced_memory()[1] - since[0]
        code = frame.f_code
        here[0] = f"{code.co_filename}:{code.co_qualname}" if "/loading/" in code.co_filename else ""
        tracemalloc.reset_peak()
        since[0] = tracemalloc.get_traced_memory()[0]
        return note

    before = sys.gettrace()
    tracemalloc.start(1)
    since = [tracemalloc.get_traced_memory()[0]]
    sys.settrace(note)
    try:
        run()
    finally:
        sys.settrace(before)
        tracemalloc.stop()
    del seen[""]
    return seen


def test_no_function_looks_at_all_directories_for_each_one(tmp_path: Path) -> None:
    few, many = steps(tmp_path / "few", FEW), steps(tmp_path / "many", MANY)
    assert any(name.endswith("_Run._concerned") for name in many), "whom a loss concerns is asked"
    grown = {name: (few[name], count) for name, count in many.items() if count > MANY * LEEWAY}
    assert {name: of for name, of in grown.items() if of[1] > max(of[0], FEW) * MANY / FEW * LEEWAY} == {}


@pytest.mark.slow
def test_no_line_holds_all_directories_for_each_one(tmp_path: Path) -> None:
    few, many = room(tmp_path / "few", FEW // 2), room(tmp_path / "many", MANY // 2)
    assert any(name.endswith("_Run._futures") for name in many), (
        "the places of future replicas are looked for"
    )
    grown = {name: (few[name], size) for name, size in many.items() if size > MANY * 500}
    assert {name: of for name, of in grown.items() if of[1] > of[0] * MANY / FEW * LEEWAY} == {}


def test_a_file_is_asked_once_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, asked, stat, pread = told_of(tmp_path / "one", 1), Counter[str](), os.stat, os.pread
    ends = Counter[str]()

    def count(path: str, **options: bool) -> os.stat_result:
        asked[path.rpartition("/")[2]] += "/orders0-0/" in path
        return stat(path, **options)

    def last_of(fd: int, size: int, position: int) -> bytes:
        ends[Path(os.readlink(f"/proc/self/fd/{fd}")).suffix] += 1
        return pread(fd, size, position)

    with monkeypatch.context() as patch:
        patch.setattr(os, "stat", count)
        patch.setattr(os, "pread", last_of)
        run()
    assert any(name.endswith(".index") for name in asked), "of the active segment, whether it has room"
    assert ends == {".timeindex": 3, ".log": 3}, (
        "of each segment, by which retention goes, and whether it is due; a small log tells without its index"
    )
    assert {name for name, times in asked.items() if times > 1 and not name.endswith(".log")} == set()
