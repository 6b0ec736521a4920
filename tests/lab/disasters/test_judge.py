"""What a log must show before a start is judged: a machine that is too slow gives no verdict."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.checks.build_partition import seal
from tests.faults.hands import with_number
from tests.golden.shared import golden
from tests.lab import process, upgrade
from tests.lab.broker import Broker
from tests.lab.disasters.batches import split
from tests.lab.disasters.committed import by_markers, passed, sorted_out
from tests.lab.disasters.files import Seen, changes
from tests.lab.disasters.judge import tasks_began
from tests.lab.errors import LabError
from tests.lab.process import goes_on, stamp
from tests.lab.releases import release

UP = "[2026-11-25 01:27:38,986] INFO Loading producer state till offset 259 (kafka.log.Log)"
TRIES = [
    f"[2026-11-25 01:{at}] INFO [MetadataLoader id=1] the loader is still catching up, {number} (kafka)"
    for number, at in enumerate(("27:39,006", "28:12,768", "28:39,100"))
]
LOOP, NOW = [UP, "\tat kafka.log.Log.load(Log.scala:7)", *TRIES], stamp(TRIES[-1])
LOADED = "[2026-11-25 01:28:20,000] INFO Starting log cleanup with a period of 300000 ms. (kafka.log)"


def test_who_tries_the_same_again_and_again_hangs() -> None:
    assert not goes_on(LOOP, NOW)


@pytest.mark.parametrize("lines", [[*LOOP, LOADED], []], ids=["something new", "nothing yet"])
def test_who_still_goes_on_is_not_said_to_hang(lines: list[str]) -> None:
    assert goes_on(lines, NOW)


class Slow(Broker):
    """One that logs something new each time, and does not come up."""

    def command(self) -> list[str]:
        says = (
            "import time, datetime\n"
            "for number in range(600):\n"
            " time.sleep(0.1)\n"
            " now = datetime.datetime.now().strftime('%Y-%m-%d %H:%M:%S,%f')[:-3]\n"
            " print(f'[{now}] INFO ' + 'x' * number, flush=True)"
        )
        return [sys.executable, "-c", says]


@pytest.mark.parametrize(
    "look",
    [lambda broker: broker.came_to("hangs"), lambda broker: upgrade.observe(broker, broker.root, 2)],
    ids=["a start", "an upgrade"],
)
def test_a_slow_machine_gives_no_verdict(
    look: Callable[[Broker], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "PATIENCE", 2)
    with Slow(release("4.3.1"), tmp_path) as broker:
        broker.launch()
        with pytest.raises(LabError, match="too slow to judge"):
            look(broker)


def test_files_are_not_looked_at_once_the_first_tasks_may_have_changed_them() -> None:
    assert not tasks_began([UP, LOADED], stamp(LOADED) + 29)
    assert tasks_began([UP, LOADED], stamp(LOADED) + 30)


@pytest.mark.parametrize("number", ["1", "+1", "01"])
def test_a_stray_is_known_again_under_the_number_that_the_broker_read(number: str) -> None:
    files = {"x.log": Seen(1, b"x")}
    stray = f"d0/t-1.{'0a' * 16}-stray"
    assert changes({f"d0/t-{number}": files}, {stray: files}) == {
        f"d0/t-{number}": {"renamed": "d0/t-1.HEX-stray"}
    }


def test_committed_are_told_by_producer_and_not_by_offset_alone() -> None:
    """Where offsets go back two batches begin at one; what is in no transaction is committed."""
    batches = [(7, 3, 5, None), (-1, 3, 6, None), (7, 7, 7, 0)]
    right, aborted = by_markers(batches)
    assert (right, aborted) == (set(), {(7, 3)})
    assert passed(batches, [(7, 3)]) == {(-1, 3)}


def test_an_answer_with_odd_batches_is_sorted_out() -> None:
    log = next(golden("4.3.1-clean").glob("b1/*/txn-open-0/*.log"))
    one = next(each for each in split(log.read_bytes()) if next(sorted_out(each))[0] >= 0)
    plain = seal(with_number(one, ">h", 21, lambda attributes: attributes & ~0x10))
    assert next(sorted_out(plain))[0] == -1
    negative = with_number(one, ">i", 8, lambda _: -8)
    assert [each for each in sorted_out(negative) if each[3] is None] == []
