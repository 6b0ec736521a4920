"""Files and directories of segmend itself, outside of all log dirs: whole, private, there for good."""

from __future__ import annotations

import errno
from contextlib import suppress

from segmend.logdir import disk
from segmend.surgery.fingerprint import Fingerprint
from segmend.surgery.writing.atomic import bytes_of, write_atomically
from segmend.surgery.writing.effects import Effects, sync_dir
from segmend.surgery.writing.work import Workplace, folder


def write_private(fx: Effects, path: str, data: bytes) -> None:
    """A file of a run, whole or not at all; raises `OSError`."""
    work = Workplace(fx=fx, vault=folder(path))
    write_atomically(work, path, bytes_of(data, work), Fingerprint(kind="file", mode=0o600))


def make_dirs(fx: Effects, path: str, *, known: str | None = None) -> None:
    """Make a directory and what it lies in, and sync their names; raises `OSError`.

    Those that are there are synced too: who made them may have been killed before he could. `known` is one
    of which this process knows that it was synced, with all above.
    """
    if path in ("/", known):
        return
    if disk.path_type(path) is None:
        make_dirs(fx, folder(path), known=known)
        with suppress(FileExistsError):  # another segmend was quicker
            fx.make_dir(path)
        sync_dir(fx, folder(path))
    else:
        # What we may pass but not read, or lies on a file system without syncs, was never made by us.
        try:
            sync_dir(fx, folder(path))
        except OSError as error:
            if error.errno not in (errno.EACCES, errno.EPERM, errno.EROFS, errno.EINVAL, errno.ENOSYS):
                raise
        make_dirs(fx, folder(path), known=known)
