"""What an operation is asked: the broker, and the options."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from segmend.errors import UsageError
from segmend.frozen import frozen
from segmend.logdir import disk
from segmend.logdir.release import Release
from segmend.logdir.tree import LogDir
from segmend.node.broker_dirs import BrokerDirs

Tell = Callable[[int, int], None]
"""Is told (done, total) bytes."""
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

    def dir_called(self, path: str, option: str) -> LogDir:
        """The log dir that an option names; raises `UsageError` if it is none of those given."""
        real = disk.real_path(path)
        named = next((log_dir for log_dir in self.dirs if log_dir.path == real), None)
        if named is None:
            raise UsageError(f"{option} {path}: is none of the log dirs given ({', '.join(self.given)})")
        return named
