"""What an operation is asked: the broker, and the options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from segmend.errors import SegmendError, UsageError
from segmend.formats.names import DirName, parse_dir_name
from segmend.frozen import frozen
from segmend.logdir import disk
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.release import Release
from segmend.node.broker_dirs import BrokerDirs
from segmend.surgery.counted import Tell

OptionsType = TypeVar("OptionsType", covariant=True)


@frozen
class Request(Generic[OptionsType]):
    """One broker, its log dirs opened by their real paths.

    `given` has the paths as the user wrote them, in the same order; `options` those of the operation; `names`
    narrow it down to partition directories, empty means all; `on_progress` is told (done, total) bytes.
    """

    broker: BrokerDirs
    given: Sequence[str]
    options: OptionsType
    names: frozenset[str] = frozenset()
    on_progress: Tell = lambda _done, _total: None

    @property
    def dirs(self) -> tuple[LogDir, ...]:
        return self.broker.dirs

    @property
    def release(self) -> Release:
        """The release whose rules count."""
        return self.broker.release

    def replica_called(self, option: str) -> tuple[DirName, PartitionDir | None]:
        """The name that `--partition` gives, TOPIC-N, and its directory; None if no log dir has it.

        Raises `UsageError` for what no broker replicates, `SegmendError` where two log dirs have it.
        """
        name = parse_dir_name(option.rstrip("/").rpartition("/")[2])
        if name.kind != "current":
            raise UsageError(
                f"--partition {name.name}: is no partition that a broker replicates; give TOPIC-N"
            )
        replicas = (log_dir.partition(name.name) for log_dir in self.dirs)
        here = [each for each in replicas if each is not None and each.kind == "current"]
        if len(here) > 1:
            raise SegmendError(
                f"{here[0].path}: is in {here[1].log_dir.path} too; set one of them aside first"
            )
        return name, here[0] if here else None

    def dir_called(self, path: str, option: str) -> LogDir:
        """The log dir that an option names; raises `UsageError` if it is none of those given."""
        real = disk.real_path(path)
        named = next((log_dir for log_dir in self.dirs if log_dir.path == real), None)
        if named is None:
            raise UsageError(f"{option} {path}: is none of the log dirs given ({', '.join(self.given)})")
        return named
