"""The forecast of each trial is what the real broker did: starts or refuses, dirs offline, offsets.

Recorded by `tests.lab.places.record`; nothing is started here. Giving files away, read-only mounts and the
attribute `i` need root. A shared start is compared trial by trial, each alone in its dir.
"""

import functools
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from segmend.loading import ForecastOptions, forecast
from segmend.logdir.config import ServerConfig
from segmend.logdir.log_dir import LogDir
from segmend.logdir.user import User
from tests.brokers import broker_of
from tests.cli.run import Ran, run
from tests.lab.places.base import HERE, TOPICS, archive, partition_in, unpacked
from tests.lab.places.open_transactions import OpenTrial
from tests.lab.places.record import ALL_TRIALS, clear, prepared
from tests.lab.places.table import Trial
from tests.lab.verdict import HEALTHY
from tests.seeds import some_of

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")

NAMES = sorted(path.stem for path in HERE.glob("*.json"))
EACH = 27
"""The fast test takes one trial of so many; the slow one all."""
TRIALS = {trial.name: trial for trial in ALL_TRIALS}
Lines = list[dict[str, Any]]

Known = dict[tuple[str, str], str]
ONLY_BY_TIME: Known = {
    (f"{version}-clean", "old-timeindex-readable"): "reads fail, said so alone"
    for version in ("2.8.2", "3.3.2", "3.9.2", "4.1.1", "4.3.1")
} | {("4.3.1-clean", "immutable-old-timeindex"): "reads fail, said so alone"}
"""A look-up by time fails there, which no consumer from the beginning makes."""
NOT_TOLD: Known = {
    (f"{version}-clean", name): r"p\d: \[0, 0\], said None"
    for version in ("1.1.0", "2.8.2")
    for name in ("dir-dropped", "dir-missing", "dropped-but-one")
}
"""Of a dir that is not there only ZooKeeper knows what lay in it: nothing on these disks does."""
NOT_LED: Known = {("4.2.0-clean", "dropped-but-one"): r"p\d not served, said \[0, 0\]"}
"""Led by nobody yet when it was looked at; the empty logs are served later."""
OF_SOME_MACHINES = ("mount", "immutable", "append-only", "read-only", "acl")
"""Not every machine lets even root do this; CI's does."""
KNOWN = ONLY_BY_TIME | NOT_TOLD | NOT_LED
"""In which points forecasts are known to differ; to become empty."""


@functools.cache
def verdicts(name: str) -> dict[str, Any]:
    """What was recorded."""
    found: dict[str, Any] = json.loads((HERE / f"{name}.json").read_text())
    return found


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where bases are unpacked, once."""
    return tmp_path_factory.mktemp("places")


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    """Where a trial is done; taken away whatever was done to it.

    Not in pytest's own place: another run of tests that begins meanwhile closes that to the broker's user.
    """
    everyones = (path for path in tmp_path.parents if path.stat().st_mode & 0o007 == 0o007)
    with TemporaryDirectory(prefix="segmend-places-", dir=next(everyones, tmp_path)) as folder:
        for path in (Path(folder), *Path(folder).parents):
            if path.stat().st_uid == os.geteuid() and path != path.parent:
                path.chmod(path.stat().st_mode | 0o711)  # the broker's user passes
        yield Path(folder, "trial")
        clear(Path(folder, "trial"))


def config(b1: Path, trial: Trial, version: str) -> Path:
    """server.properties as in the lab."""
    zookeeper = version < "3"
    rows = {
        "log.dirs": ",".join(f"{b1}/d{number}" for number in range(8)),
        "num.recovery.threads.per.data.dir": "1",
        **({"broker.id": "1"} if zookeeper else {"node.id": "1", "process.roles": "broker,controller"}),
        **{key: value.format(b1=b1) for key, value in trial.settings.items()},
    }
    path = b1 / "server.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in rows.items()))
    return path


def said(trial: Trial, b1: Path, version: str, verdict: dict[str, Any]) -> Lines:
    """The lines of the forecast."""
    if not isinstance(trial, OpenTrial):
        ran: Ran = run(
            "forecast", "--config", config(b1, trial, version), "--json", "--kafka", version,
            "--as-user", f"{trial.uid or 0}",
        )  # fmt: skip
        return ran.json
    given = ServerConfig.load(str(config(b1, trial, version)))
    dirs = [LogDir.open(path) for path in given.log_dirs]
    order = [*verdict["order"], *dirs[3].entries]
    dirs[3] = LogDir(
        dirs[3].path, {n: dirs[3].entries[n] for n in dict.fromkeys(order) if n in dirs[3].entries}
    )
    lines = forecast(broker_of(dirs, version, given), ForecastOptions(user=User.of(0)))
    return [line.to_json() for line in lines]


def offline(lines: Lines) -> set[str]:
    """The log dirs that are said to fail, at the start or at the first read."""
    return {
        Path(line["dir"]).name for line in lines if line["type"] == "dir" and line["outcome"] == "offline"
    }


def failing(lines: Lines) -> set[str]:
    """The log dirs in which reads fail."""
    return {
        Path(line["dir"]).name
        for line in lines
        if line["type"] == "partition" and any(each["effect"] == "reads-fail" for each in line["effects"])
    }


def ends(lines: Lines) -> dict[str, list[int] | None]:
    """Log start and end offset of each topic after the start; None where it is not served."""
    found: dict[str, list[int] | None] = {}
    for line in lines:
        if line["type"] == "partition" and line["topic"] in TOPICS:
            after = [line["after"]["log_start_offset"], line["after"]["log_end_offset"]]
            if after[1] is not None or line["topic"] not in found:
                found[line["topic"]] = None if after[1] is None else after
    return found


def differences(
    name: str, trial: Trial, verdict: dict[str, Any], lines: Lines, topic: str | None
) -> list[str]:
    """Every point in which the forecast is not what was seen."""
    if not lines:
        return ["no forecast"]
    last = lines[-1]
    if last["outcome"] != verdict["outcome"]:
        return [f"{verdict['outcome']} ({verdict.get('fatal')}), said {last['outcome']} ({last['reason']})"]
    if verdict["outcome"] == "refuses":
        return []
    whole = verdicts(name)[HEALTHY]["offsets"]
    if trial.alone:
        seen = set(verdict.get("offline", []))
        topics = {each: verdict["topics"].get(each, {"offsets": whole})["offsets"] for each in TOPICS}
    else:
        later = bool(verdict.get("later")) and verdict["dir"] not in failing(lines)
        seen = {verdict["dir"]} if verdict.get("offline") or later else set()
        topics = {topic: verdict["offsets"]} if topic and not seen and not verdict.get("later") else {}
    found = [] if offline(lines) == seen else [f"offline {sorted(seen)}, said {sorted(offline(lines))}"]
    if not (trial.alone or seen or verdict.get("later")) and verdict["dir"] in failing(lines):
        found.append("reads fail, said so alone")
    mine = ends(lines)
    for each, offsets in topics.items():
        if isinstance(offsets, list) and not (seen and offsets[1] == 0):
            found += of_offsets(each, offsets, mine.get(each), whole)
        if offsets is None and mine.get(each):
            found.append(f"{each} not served, said {mine.get(each)}")
    return found


def of_offsets(topic: str, offsets: list[int], mine: list[int] | None, whole: list[int]) -> list[str]:
    """A coordinator that came up meanwhile has ended the open transaction: one control record more."""
    ended = [whole[0], whole[1] + 1, whole[1] + 1]
    wanted = whole[:2] if offsets == ended else offsets[:2]
    return [] if mine == wanted else [f"{topic}: {offsets[:2]}, said {mine}"]


def tried(name: str, trial: Trial, home: Path, root: Path) -> list[str]:
    """Do it, forecast it, compare."""
    version, _, mark = name.partition("-")
    verdict = verdicts(name)[trial.name]
    b1 = prepared(unpacked(version, mark, home), root, trial.uid)
    topic = None
    try:
        if isinstance(trial, OpenTrial):
            trial.in_order(b1, verdict["order"])
        elif trial.alone:
            trial.hurt(b1)
        else:
            topic = partition_in(b1 / verdict["dir"]).name[:-2]
            trial.hurt(b1 / verdict["dir"])
    except (subprocess.CalledProcessError, OSError) as refused:
        clear(root)
        if os.environ.get("CI") == "true" or not any(each in trial.name for each in OF_SOME_MACHINES):
            raise refused
        return []
    return differences(name, trial, verdict, said(trial, b1, version, verdict), topic)


def agree(name: str, trials: list[Trial], home: Path, root: Path) -> None:
    """No trial differs but those of which it is known, and these as is known."""
    found = {trial.name: tried(name, trial, home, root) for trial in trials}
    differing = {each: points for each, points in found.items() if points}
    assert differing.keys() == {each for of, each in KNOWN if of == name} & found.keys(), differing
    for each, points in differing.items():
        assert all(re.fullmatch(KNOWN[name, each], point) for point in points), points


def recorded(name: str) -> list[Trial]:
    """The trials with a verdict."""
    return [TRIALS[each] for each in verdicts(name) if each != HEALTHY]


@pytest.mark.sample
@pytest.mark.parametrize("name", NAMES)
def test_some_trials_end_as_forecast(name: str, home: Path, root: Path) -> None:
    number = NAMES.index(name)
    agree(name, recorded(name)[number % EACH :: EACH], home, root)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_trial_ends_as_forecast(name: str, home: Path, root: Path) -> None:
    """In CI every third one, the others on the next releases."""
    agree(name, some_of(recorded(name), 3, NAMES.index(name)), home, root)


def test_each_recording_has_its_base() -> None:
    assert [name for name in NAMES if not archive(*name.split("-", 1)).exists()] == []
