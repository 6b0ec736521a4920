"""The log dir that a path lies in: nothing of ours goes there, for its broker would not start over it."""

from __future__ import annotations

import os

from segmend.formats.names import parse_dir_name
from segmend.logdir import disk
from segmend.logdir.file_system import FOLDERS, Unreadable, or_none
from segmend.logdir.layout import layout
from segmend.logdir.log_dir import LOG_DIR_FILES
from segmend.logdir.partition_dir import PARTITION_KINDS


def log_dir_around(path: str) -> str | None:
    """The path itself or what is above it on this disk, if that is a log dir."""
    here = disk.real_path(path)
    while here != "/":
        try:
            if _is_log_dir(here):
                return here
        except Unreadable:
            pass  # what is closed to us is no place of ours; who uses it is told so
        here = os.path.dirname(here)
    return None


def _is_log_dir(path: str) -> bool:
    """By a broker's files; without any, by partitions with logs, if it has no other directories.

    Over another one no broker starts, and who copies a partition beside something makes no log dir of that.
    """
    try:
        names = disk.names(path)
    except Unreadable as refused:
        if refused.missing:
            return False
        names = None  # who may only search it sees what he asks for
    # A look at each name costs as much as the list of all, and what is above a log dir may have very many.
    ours = LOG_DIR_FILES if names is None else LOG_DIR_FILES.intersection(names)
    if any(disk.path_type(f"{path}/{name}") == "file" for name in ours):
        return True
    theirs = (n for n in names or () if "-" in n and parse_dir_name(n).kind in PARTITION_KINDS)
    if not any(_may_have_logs(f"{path}/{name}") for name in theirs):
        return False
    folders = [name for name, kind in disk.listing(path).items() if kind in FOLDERS]
    if not all(parse_dir_name(name).kind in PARTITION_KINDS for name in folders):
        return False
    return any(layout(or_none(disk.listing, f"{path}/{name}") or {}).logs for name in folders)


def _may_have_logs(path: str) -> bool:
    return any(name.endswith(".log") for name in or_none(disk.names, path) or ())
