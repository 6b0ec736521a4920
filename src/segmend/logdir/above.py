"""The log dir that a path lies in: nothing of ours goes there, for its broker would not start over it."""

from __future__ import annotations

import os

from segmend.logdir import disk
from segmend.logdir.file_system import Unreadable
from segmend.logdir.tree import LOG_DIR_FILES


def log_dir_around(path: str) -> str | None:
    """The path itself or what is above it on this disk, if a broker's files tell that it is a log dir.

    Partitions alone do not: who copies one beside something makes no log dir of that.
    """
    here = disk.real_path(path)
    while here != "/":
        for name in LOG_DIR_FILES:
            try:
                if disk.path_type(f"{here}/{name}") == "file":
                    return here
            except Unreadable:
                break  # what is closed to us is no place of ours; who uses it is told so
        here = os.path.dirname(here)
    return None
