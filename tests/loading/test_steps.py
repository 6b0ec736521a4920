"""What a forecast asks grows with the directories, not with their square: counted in steps, not in time."""

import sys
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

from tests.checks.build_partition import write_log_dir
from tests.faults.written import plain

from segmend.loading import ForecastOptions, forecast
from segmend.logdir.tree import LogDir
from segmend.node.broker_dirs import BrokerDirs

FEW, MANY = 20, 80
# Four times the directories may take up to eight times the steps (caches fill); a square takes sixteen.
LEEWAY = 2


def steps(where: Path, count: int) -> Counter[str]:
    """Lines each function runs, with each turn of a loop, in a forecast of so many plain partitions."""
    log_dir = write_log_dir(where, [plain(f"orders{number}") for number in range(count)])
    broker, seen = BrokerDirs([LogDir.open(str(log_dir))]), Counter[str]()

    def note(frame: FrameType, event: str, _: object) -> Any:
        if event == "line":
            seen[f"{frame.f_code.co_filename}:{frame.f_code.co_qualname}"] += 1
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        told = list(forecast(broker, ForecastOptions(whose=True)))
    finally:
        sys.settrace(before)
    assert len(told) > count
    return seen


def test_no_function_looks_at_all_directories_for_each_one(tmp_path: Path) -> None:
    few, many = steps(tmp_path / "few", FEW), steps(tmp_path / "many", MANY)
    assert any(name.endswith("_Run._concerned") for name in many), "whom a loss concerns is asked"
    grown = {name: (few[name], count) for name, count in many.items() if count > MANY * LEEWAY}
    assert {name: of for name, of in grown.items() if of[1] > max(of[0], FEW) * MANY / FEW * LEEWAY} == {}
