"""One of two dirs is of an earlier stop of its broker: an old snapshot, or a disk that was not mounted."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.brokers import broker_of
from tests.conftest import one_in
from tests.copies import copy_tree
from tests.golden.shared import golden

from segmend import check
from segmend.findings import Severity
from segmend.formats.clean_shutdown import FILE_NAME
from segmend.formats.offset_checkpoint import HIGH_WATERMARK, RECOVERY_POINT
from segmend.loading import ForecastOptions, forecast
from segmend.logdir.log_dir import LogDir
from segmend.node.runs import Ended, Runs, Use


@pytest.mark.parametrize("older", [0, 1])
@pytest.mark.parametrize(("release", "known"), [("4.3.1", True), ("2.8.2", False)])
def test_no_all_clear_for_a_dir_of_an_earlier_stop(
    tmp_path: Path, release: str, known: bool, older: int
) -> None:
    copy_tree(golden(f"{release}-clean") / "b1", tmp_path / "b1")
    dirs = sorted((tmp_path / "b1").glob("d*"))
    image = broker_of(map(str, dirs), release).image
    epoch = 10 if image is None else image.runs.epochs[1]
    for number, path in enumerate(dirs):
        (path / FILE_NAME).write_text(
            f'{{"version":0,"brokerEpoch":{epoch - 1 if number == older else epoch}}}'
        )
    logs = [LogDir.attempt(str(path)) for path in dirs]
    last = list(forecast(broker_of(logs, release), ForecastOptions(now_ms=0)))[-1].to_json()
    told = [each for each in last["unknown"] if f"a stop under {epoch - 1}" in each]
    found = [each for each in check(*logs, kafka=release) if each.code == "C14"]
    expected = [str(dirs[older])] if known else []
    assert [each.partition(":")[0] for each in told] == expected
    assert [(each.dir, each.severity) for each in found] == [(path, Severity.WARNING) for path in expected]


DAY = 86_400


def ended(dirs: list[Path]) -> int:
    """When the broker last wrote (s): its metadata tells, or any time does where it has none."""
    image = broker_of(map(str, dirs)).image
    return 1_790_000_000 if image is None else image.runs.time // 1000


def set_times(folder: Path, when: Callable[[str], int]) -> None:
    """Set the time of each file by its name, but of the metadata's."""
    for path in folder.rglob("*"):
        if path.is_file() and not path.parent.name.startswith("__cluster"):
            os.utime(path, (when(path.name), when(path.name)))


def of_the_last_run(now: int) -> Callable[[str], int]:
    """Sealed segments are of a week ago, what the broker goes on with is of now."""
    return lambda name: now - 7 * DAY if name.startswith("00000000000000000000.") else now


def earlier(dirs: list[Path], release: str) -> list[str]:
    """The dirs of which the times say that they are of an earlier run."""
    return list(broker_of([LogDir.attempt(str(path)) for path in dirs], release).earlier_dirs)


@pytest.mark.parametrize("older", one_in(2, [0, 1]))
@pytest.mark.parametrize("base", one_in(3, ["1.1.0-killed", "1.1.0-clean", "2.8.2-killed", "4.3.1-killed"]))
def test_checkpoints_of_an_earlier_run_tell_of_an_older_dir(tmp_path: Path, base: str, older: int) -> None:
    copy_tree(golden(base) / "b1", tmp_path / "b1")
    dirs = sorted((tmp_path / "b1").glob("d*"))
    release, now = base.partition("-")[0], ended(dirs)
    kraft, written = release == "4.3.1", of_the_last_run(now)
    for path in dirs:
        set_times(path, written)
    assert earlier(dirs, release) == []
    set_times(dirs[older], lambda name: written(name) - DAY)
    assert earlier(dirs, release) == [str(dirs[older])]
    set_times(dirs[1 - older], lambda name: now)  # as a copy makes them; the metadata has times of its own
    assert earlier(dirs, release) == [str(dirs[older if kraft else 1 - older])]
    set_times(
        dirs[1 - older], lambda name: now if name == HIGH_WATERMARK else now - 2 * DAY
    )  # edited by hand
    assert earlier(dirs, release) == [str(dirs[older])] * kraft


@pytest.mark.parametrize(("seconds", "told"), [(2, False), (5, True), (20, True), (60, True)])
@pytest.mark.parametrize("base", one_in(3, ["1.1.0-killed", "2.8.2-killed", "4.3.1-killed"]))
def test_a_copy_of_shortly_before_a_kill_is_told(tmp_path: Path, base: str, seconds: int, told: bool) -> None:
    """The high watermarks of all dirs are written every 5 s; metadata that is let in late tells nothing."""
    copy_tree(golden(base) / "b1", tmp_path / "b1")
    dirs = sorted((tmp_path / "b1").glob("d*"))
    release, now = base.partition("-")[0], ended(dirs)
    for number, path in enumerate(dirs):
        set_times(path, of_the_last_run(now - number * seconds))
        os.utime(path / RECOVERY_POINT, (now - number * seconds - 40,) * 2)
    assert earlier(dirs, release) == [str(dirs[1])] * (told and ran_long(dirs))


@pytest.mark.parametrize("base", ["1.1.0-killed", "4.3.1-killed"])
@pytest.mark.parametrize("days", one_in(2, [-1, 1]))
def test_the_times_of_another_broker_tell_nothing(tmp_path: Path, base: str, days: int) -> None:
    """By the ids in meta.properties: a broker refuses beside such a dir, and no dir is a copy for that."""
    copy_tree(golden(base) / "b1", tmp_path / "b1")
    dirs = sorted((tmp_path / "b1").glob("d*"))
    release, now = base.partition("-")[0], ended(dirs)
    own = dirs[1] / "meta.properties"
    text = own.read_text()

    def told(identity: str) -> list[str]:
        """With one dir of another day: an older copy, or one all of whose files are younger."""
        own.write_text(identity)
        set_times(dirs[0], of_the_last_run(now))
        set_times(dirs[1], of_the_last_run(now - DAY) if days < 0 else lambda _name: now + DAY)
        return earlier(dirs, release)

    assert told(text) != []
    for line in text.splitlines():
        if line.startswith(("cluster.id=", "broker.id=", "node.id=")):
            assert told(text.replace(line, f"{line.partition('=')[0]}=77")) == []


def ran_long(dirs: list[Path]) -> bool:
    """Whether the last run of a node with metadata was long enough for its checkpoints."""
    image = broker_of(map(str, dirs)).image
    return image is None or image.runs.time - next(iter(image.runs.served.values())).since > 10_000


@pytest.mark.parametrize(("metadata", "told"), [(True, False), (False, True)])
def test_a_copy_that_kept_no_times_is_told_beside_metadata_that_did(
    tmp_path: Path, metadata: bool, told: bool
) -> None:
    copy_tree(golden("4.3.1-killed") / "b1", tmp_path / "b1")
    dirs = sorted((tmp_path / "b1").glob("d*"))
    now = ended(dirs)
    for path in tmp_path.rglob("*"):
        os.utime(path, (now, now))
    for path in dirs[1].rglob("*"):
        os.utime(path, (now + DAY, now + DAY))
    for path in dirs[0].rglob("*") if metadata else ():
        os.utime(path, (now + DAY, now + DAY))
    assert earlier(dirs, "4.3.1") == [str(dirs[1])] * told


@pytest.mark.parametrize("base", ["1.1.0-clean", "4.3.1-clean"])
def test_a_copy_of_while_the_broker_ran_is_told_beside_a_marker(tmp_path: Path, base: str) -> None:
    copy_tree(golden(base) / "b1", tmp_path / "b1")
    dirs = sorted((tmp_path / "b1").glob("d*"))
    (dirs[1] / FILE_NAME).unlink()
    assert earlier(dirs, base.partition("-")[0]) == []
    points = dirs[1] / RECOVERY_POINT
    head, rows = points.read_text().splitlines()[:2], points.read_text().splitlines()[2:]
    points.write_text("\n".join([*head, *(f"{row.rpartition(' ')[0]} 0" for row in rows), ""]))
    for number, path in enumerate(dirs):
        set_times(path, of_the_last_run(ended(dirs) - 3 * number))
    assert earlier(dirs, base.partition("-")[0]) == [str(dirs[1])]
    set_times(dirs[1], lambda name: ended(dirs))  # its broker was killed as it stopped
    assert earlier(dirs, base.partition("-")[0]) == []


def test_no_all_clear_for_a_dir_of_an_earlier_run(tmp_path: Path) -> None:
    copy_tree(golden("1.1.0-killed") / "b1", tmp_path / "b1")
    dirs = sorted((tmp_path / "b1").glob("d*"))
    for number, path in enumerate(dirs):
        set_times(path, of_the_last_run(ended(dirs) - number * DAY))
    logs = [LogDir.attempt(str(path)) for path in dirs]
    last = list(forecast(broker_of(logs, "1.1.0"), ForecastOptions(now_ms=0)))[-1].to_json()
    assert f"{dirs[1]}: what it should have: its checkpoints were last written 86,400 s" in last["unknown"][0]


def unknown(dirs: list[Path]) -> list[str]:
    """What the forecast of a node of 4.3 does not know of which dirs."""
    lines = forecast(broker_of(map(str, dirs), "4.3.1"), ForecastOptions(now_ms=0))
    told: list[str] = list(lines)[-1].to_json()["unknown"]
    return [
        each.partition(": what it should have: by the metadata")[0] for each in told if "by the m" in each
    ]


@pytest.mark.parametrize("marked", [True, False])
def test_no_all_clear_where_all_dirs_are_older_than_the_metadata(tmp_path: Path, marked: bool) -> None:
    """As after a restore of all data dirs: they agree with one another, and only the metadata is newer."""
    copy_tree(golden("4.3.1-clean") / "b1", tmp_path / "b1")
    dirs = sorted((tmp_path / "b1").glob("d*"))
    assert unknown(dirs) == []
    for path in dirs:
        if marked:
            (path / FILE_NAME).write_text('{"version":0,"brokerEpoch":1}')
        else:
            (path / FILE_NAME).unlink()
            for file in path.glob("*-0/leader-epoch-checkpoint"):
                if not file.parent.name.startswith("__cluster"):
                    file.write_text("0\n1\n0 0\n")
    assert unknown(dirs) == [str(path) for path in dirs] * marked  # their records know better


def test_leader_epochs_tell_of_an_older_dir_without_a_marker(tmp_path: Path) -> None:
    """The metadata knows that its logs were led later; what they hold counts, too."""
    copy_tree(golden("4.3.1-clean") / "b1", tmp_path / "b1")
    dirs = sorted((tmp_path / "b1").glob("d*"))
    (dirs[1] / FILE_NAME).unlink()
    for topic in dirs[1].glob("*-[0-9]"):
        if topic.name.startswith("__cluster"):
            continue
        for log in topic.glob("*.log"):
            if log.name != "00000000000000000000.log":
                log.unlink()
        (topic / "00000000000000000000.log").write_bytes(b"")
        (topic / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    assert unknown(dirs) == [str(dirs[1])]


def runs() -> Runs:
    """Node 1 with two dirs: started, let in, stopped in order; then without one of them, and killed."""
    told = Runs()
    told.start(1, 5, ["a", "b"])
    told.change(1, [], serves=True, stops=False, time=10)
    told.change(1, [], serves=None, stops=True, time=20)
    told.change(1, [], serves=False, stops=False, time=21)
    told.start(1, 9, ["a"])
    told.change(1, [], serves=True, stops=False, time=30)
    told.time = 40
    return told


def test_runs_tell_which_dir_was_last_in_use_when() -> None:
    told = runs()
    assert told.of(1, "a") == (Use(epoch=9, since=30, until=40), 9)
    assert told.of(1, "b") == (Use(epoch=5, since=10, until=20, end=Ended.IN_ORDER), 5)
    assert told.of(1, "c") is None
    told.start(1, 12, ["a", "b"])  # and failed: it is never let in
    assert told.of(1, "a") == (Use(epoch=9, since=30, until=40), 12)
    assert told.of(1, "b") == (Use(epoch=5, since=10, until=20, end=Ended.IN_ORDER), 12)
    told.change(1, ["b"], serves=True, stops=False, time=50)  # one dir failed while its logs were loaded
    told.time = 60
    assert told.of(1, "a") == (Use(epoch=9, since=30, until=40), 12)
    assert told.of(1, "b") == (Use(epoch=12, since=50, until=60), 12)


def test_before_3_7_all_dirs_are_in_use_at_once() -> None:
    told = Runs()
    told.start(1, 5, [], serves=True)
    told.time = 7
    assert told.of(1, "a") == told.of(1, None) == (Use(epoch=5, until=7), 5)
