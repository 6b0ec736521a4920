"""Everything about every file of a directory, so that two moments can be compared."""

import hashlib
import os
import stat
from pathlib import Path

from segmend.logdir.disk import FileReader

Tree = dict[str, tuple[object, ...]]
BLOCK = 1 << 16
ZEROS = bytes(BLOCK)


def picture(root: Path, *, folder_times: bool = True) -> Tree:
    """Mode, owner, time, size, content and attributes of all below a directory, and of itself.

    Zeros are left out of the hash: a killed broker's indexes are 10 MiB of them each.
    """
    found: Tree = {}
    for path in [root, *sorted(root.rglob("*"))]:
        s = path.lstat()
        if stat.S_ISLNK(s.st_mode):
            found[str(path)] = (os.readlink(path),)
            continue
        is_file = stat.S_ISREG(s.st_mode)
        time = s.st_mtime_ns if folder_times or is_file else None
        size, content = (s.st_size, _digest(path, s.st_size)) if is_file else (0, "")
        found[str(path)] = (s.st_mode, s.st_uid, s.st_gid, time, size, content, *attributes(path))
    return found


def attributes(path: Path) -> list[tuple[str, bytes]]:
    """The extended attributes of a file or directory."""
    return sorted((name, os.getxattr(path, name)) for name in os.listxattr(path))


def _digest(path: Path, size: int) -> str:
    if size <= BLOCK:
        data = path.read_bytes()
        return hashlib.sha256(b"0:" + data if data.strip(b"\0") else b"").hexdigest()
    digest = hashlib.sha256()
    with FileReader(str(path)) as reader:
        for start, end in reader.extents():
            for at in range(start - start % BLOCK, end, BLOCK):
                block = reader.read(BLOCK, at)
                if block != ZEROS[: len(block)]:
                    digest.update(b"%d:" % at + block)
    return digest.hexdigest()
