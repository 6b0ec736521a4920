"""Pack broker directories into one small, sparse, reproducibly ordered .tar.xz."""

import subprocess
from pathlib import Path


def pack(root: Path, members: list[str], archive: Path) -> None:
    """Pack `members` (directories below `root`, such as `b1/d0`) with their modification times.

    GNU tar stores the holes of preallocated indexes as holes; owners are made anonymous.
    """
    command = [
        *("tar", "--create", "--sparse", "--hole-detection=raw", "--format=gnu", "--sort=name"),
        *("--owner=0", "--group=0", "--numeric-owner", "--directory", str(root)),
        *("--use-compress-program=xz -9e -T1", "--file", str(archive), *members),
    ]
    archive.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(command, check=True)
