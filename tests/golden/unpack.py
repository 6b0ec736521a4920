"""Unpack a golden directory: `python tests/golden/unpack.py ARCHIVE INTO`.

Standard library only, so that a demo can use it on a bare machine. Runs of zeros come back as holes
(the preallocated 10 MiB indexes of a killed broker cost nothing), modification times are kept.
"""

import os
import sys
import tarfile
from pathlib import Path

BLOCK = 64 * 1024


def write_with_holes(stream: tarfile.ExFileObject, target: Path, size: int) -> None:
    """Copy a member to a file, seeking over blocks of zeros instead of writing them."""
    with open(target, "wb") as out:
        while block := stream.read(BLOCK):
            if block.count(0) == len(block):
                out.seek(len(block), os.SEEK_CUR)
            else:
                out.write(block)
        out.truncate(size)


def unpack(archive: Path, into: Path) -> Path:
    """Unpack `archive` below `into` (made if missing) and return `into`."""
    into.mkdir(parents=True, exist_ok=True)
    times: list[tuple[Path, float]] = []
    with tarfile.open(archive) as tar:
        for member in tar:
            target = into / member.name
            if ".." in Path(member.name).parts or Path(member.name).is_absolute():
                raise ValueError(f"{archive}: {member.name} would leave {into}")
            if member.isdir():
                target.mkdir(parents=True, exist_ok=True)
            elif member.isfile():
                target.parent.mkdir(parents=True, exist_ok=True)
                if member.sparse is not None:
                    tar.makefile(member, target)  # seeks over the holes by itself
                else:
                    stream = tar.extractfile(member)
                    assert stream is not None
                    write_with_holes(stream, target, member.size)  # type: ignore[arg-type]
            times.append((target, member.mtime))
    for target, moment in reversed(times):
        os.utime(target, (moment, moment))
    return into


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: unpack.py ARCHIVE INTO")
    unpack(Path(sys.argv[1]), Path(sys.argv[2]))
