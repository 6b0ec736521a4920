"""Which file a command may write in the place of another: only of its own kind, never a device or a pipe."""

from __future__ import annotations

from collections.abc import Callable

from segmend.errors import UsageError
from segmend.logdir import disk

_BEGIN = 64


def refuse_overwriting(option: str, path: str, what: str, is_one: Callable[[bytes], bool]) -> None:
    """Raise `UsageError` if `path` names something that is there and is no such file: a slip of the hand.

    The new one is renamed into its place, which of /dev/null would leave a file that fills up.
    """
    if path == "":
        raise UsageError(f"{option}: is empty; give the name of a file")
    kind = disk.path_type(path)
    if kind is None:
        return
    if kind != "file":
        raise UsageError(f"{option} {path}: is no plain file; give the name of a file")
    begin = disk.read(path, _BEGIN)
    if begin and not is_one(begin):
        raise UsageError(f"{option} {path}: is there already, and is no {what}; give another name")
