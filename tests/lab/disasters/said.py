"""What the forecast says of a hurt node: the lines of `--json`, and the model of each log behind them."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from segmend.formats.names import file_prefix
from segmend.loading import ForecastOptions, forecast, replicas
from segmend.loading.dirs import DirState
from segmend.loading.load import LoadedLog, load
from segmend.loading.state import Settings, Snapshots, States
from segmend.logdir.config import ServerConfig
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.user import User
from tests.brokers import broker_of
from tests.lab.disasters.contents import Over
from tests.lab.disasters.judge import Judge
from tests.lab.disasters.scene import Scene

Line = dict[str, Any]


@dataclass
class Said:
    """`lines` as the command gives them, `dir` and `file` by the names of the log dirs; `logs` by place.

    Without `kraft` ZooKeeper knows which partitions there are, and these files do not. `unread` are the dirs
    in which nothing is loaded: offline before that, or of no broker.
    """

    lines: list[Line]
    logs: dict[str, LoadedLog] = field(default_factory=dict)
    kraft: bool = True
    unread: frozenset[str] = frozenset()

    @property
    def broker(self) -> Line:
        """The last line."""
        return self.lines[-1]

    def of(self, kind: str) -> list[Line]:
        """The lines of a type."""
        return [line for line in self.lines if line["type"] == kind]

    @property
    def partitions(self) -> dict[str, Line]:
        """By `f000-0`; of two in different dirs, the one that is served."""
        found: dict[str, Line] = {}
        for line in sorted(
            self.of("partition"), key=lambda each: bool(each["outcome"] in ("served", "empty"))
        ):
            found[f"{line['topic']}-{line['partition']}"] = line
        return found

    def at(self, place: str) -> Line:
        """What is said of the directory `d0/f000-0`, nothing if nothing is."""
        log_dir, _, name = place.partition("/")
        mine = (line for line in self.lines if line.get("dir") == log_dir and line.get("file") == name)
        return next(mine, {})


def in_order(log_dir: LogDir, order: list[int] | None) -> LogDir:
    """The same, listed as it was where the broker started: a start depends on it."""
    names = sorted(name for name, kind in log_dir.entries.items() if kind == "dir")
    if order is None or len(order) != len(names):
        return log_dir
    first = {names[number]: log_dir.entries[names[number]] for number in order}
    return LogDir(log_dir.path, first | log_dir.entries, log_dir.files, log_dir.unreadable)


def said(
    version: str, scene: Scene, uid: int | None = None, order: dict[str, list[int]] | None = None
) -> Said:
    """The forecast for these dirs and their server.properties, by the rules of that release."""
    settings = Judge(version, scene, "127.0.0.1:2181").configuration()
    dirs = [Path(path) for path in ServerConfig(given=settings).log_dirs]
    opened = [LogDir.open(str(path)) if path.is_dir() else LogDir(str(path), {}) for path in dirs]
    opened = [in_order(each, (order or {}).get(each.name)) for each in opened]
    options = ForecastOptions(user=None if uid is None else User.of(uid))
    broker = broker_of(opened, version, ServerConfig(given=settings))
    with listening() as (logs, unread):
        lines = [line.to_json() for line in forecast(broker, options)]
    for line in lines:
        if "dir" in line:
            line["dir"] = Path(line["dir"]).name
    return Said(
        lines,
        {f"{Path(each).parent.name}/{Path(each).name}": log for each, log in logs.items()},
        broker.kraft,
        frozenset(Path(each).name for each in (unread if broker.serves else [d.path for d in opened])),
    )


@contextmanager
def listening() -> Iterator[tuple[dict[str, LoadedLog], set[str]]]:
    """Keep the model of each log that is loaded meanwhile, by its path, and the dirs that are not read."""
    found: dict[str, LoadedLog] = {}
    unread: set[str] = set()
    leave_out, write = DirState.leave_out, Snapshots.write

    def heard(partition: PartitionDir, settings: Settings) -> LoadedLog:
        found[partition.path] = load(partition, settings)
        return found[partition.path]

    def left_out(state: DirState, reason: str) -> None:
        unread.add(state.path)
        leave_out(state, reason)

    def written(snapshots: Snapshots, offset: int, states: States) -> None:
        kept = Over(states)
        kept.under = snapshots.disk.get(offset, {}).get(f"{file_prefix(offset)}.snapshot")
        write(snapshots, offset, kept)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Snapshots, "write", written)
        patch.setattr(replicas, "load", heard)
        patch.setattr(DirState, "leave_out", left_out)
        yield found, unread
