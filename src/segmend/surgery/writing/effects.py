"""The only module that changes a disk: each method is one system call, or one call and a close.

Everything that surgery writes goes through an `Effects`, so that a test can put in one that
dies, fails, or forgets what was not synced, at any call. No call follows a symbolic link.
What the system refuses is raised as it is (`OSError`), with the name of the file.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

from segmend.formats import posix_acl
from segmend.logdir.disk import copied_names, link_target

_NEW: Final = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_OLD: Final = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
FULL: Final = (errno.ENOSPC, errno.EDQUOT)
"""What the system says where there is no room."""
_SOURCE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
_FICLONERANGE: Final = 0x4020940D
_AT_ONCE: Final = 256 << 10
"""Bytes of one write: for more at once Linux looks for larger pieces of free memory, which takes it long."""
_DIR: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Effects:
    """The real thing. File descriptors are plain numbers; positions and sizes are bytes."""

    def create(self, path: str, mode: int = 0o600) -> int:
        """Open a file for writing that is empty and new, or made empty; give its descriptor."""
        return os.open(path, _NEW, mode)

    def open(self, path: str) -> int:
        """Open a file that is there for writing; changes nothing yet."""
        return os.open(path, _OLD)

    def open_to_sync(self, path: str) -> int:
        """Open a file only to sync it, which its mode may keep from being written."""
        return os.open(path, _SOURCE)

    def open_dir(self, path: str) -> int:
        """Open a directory, to set its owner, mode and times, or to sync it."""
        return os.open(path, _DIR)

    def close(self, fd: int) -> None:
        """Close a descriptor; syncs nothing."""
        os.close(fd)

    def write(self, fd: int, data: bytes | memoryview, position: int) -> None:
        view = memoryview(data)
        with _named(fd):
            while view:
                done = os.pwrite(fd, view[:_AT_ONCE], position)
                view, position = view[done:], position + done

    def hurry(self, fd: int, position: int, length: int) -> None:
        """Have the system begin to bring bytes to the disk; only `sync` promises that they are there."""
        # What is on its way cannot be dropped from the page cache yet: this is how Linux is asked to begin.
        os.posix_fadvise(fd, position, length, os.POSIX_FADV_DONTNEED)

    def truncate(self, fd: int, size: int) -> None:
        """Cut a file, or lengthen it by a hole."""
        with _named(fd):
            os.ftruncate(fd, size)

    def set_owner(self, fd: int, uid: int, gid: int) -> None:
        """Owner and group; nothing is called where they are right already."""
        status = os.fstat(fd)
        if (status.st_uid, status.st_gid) != (uid, gid):
            with _named(fd):
                os.fchown(fd, uid, gid)

    def set_mode(self, fd: int, mode: int) -> None:
        """The permission bits."""
        if stat.S_IMODE(os.fstat(fd).st_mode) != mode:
            with _named(fd):
                os.fchmod(fd, mode)

    def set_attributes(self, fd: int, wanted: Mapping[str, bytes]) -> None:
        """The extended attributes: an SELinux label, an ACL; those that are right are left alone."""
        with _named(fd):
            have = {name: os.getxattr(fd, name) for name in copied_names(os.listxattr(fd))}
            # An access list is a mode as well: what it closes to its owner gets no other attribute after it.
            for name, value in sorted(wanted.items(), key=lambda each: each[0] == posix_acl.ATTRIBUTE):
                if have.get(name) != value:
                    os.setxattr(fd, name, value)
            for name in have.keys() - wanted.keys():
                # A label that the system gave the new file by its own rules stays, as for any new file.
                if not name.startswith("security."):
                    os.removexattr(fd, name)

    def set_mtime(self, fd: int, mtime_ns: int) -> None:
        """The modification time, in ns; the access time stays."""
        with _named(fd):
            os.utime(fd, ns=(os.fstat(fd).st_atime_ns, mtime_ns))

    def clone(self, fd: int, source: str, position: int, length: int, at: int) -> bool:
        """Share blocks of another file, copied when either is written to; False where that cannot be.

        `length` bytes from `position` of `source` come to stand at byte `at`. Only the file systems with
        reflinks can (XFS, Btrfs, bcachefs), within one file system, and in whole blocks.
        """
        try:
            origin = os.open(source, _SOURCE)
        except OSError:
            return False
        try:
            fcntl.ioctl(fd, _FICLONERANGE, struct.pack("qQQQ", origin, position, length, at))
        except OSError as error:
            if error.errno in (*FULL, errno.EIO):
                raise
            return False
        finally:
            os.close(origin)
        return True

    def sync(self, fd: int) -> None:
        """Bring a file's bytes, size, owner, mode and times to the disk; of a directory, its names."""
        with _named(fd):
            os.fsync(fd)

    def rename(self, old: str, new: str) -> None:
        """Rename; a file (never a directory) that has the new name is replaced."""
        os.rename(old, new)

    def link(self, path: str, new: str) -> None:
        """Another name for a file."""
        os.link(path, new, follow_symlinks=False)

    def remove(self, path: str) -> None:
        os.unlink(path)

    def make_dir(self, path: str, mode: int = 0o700) -> None:
        os.mkdir(path, mode)

    def remove_dir(self, path: str) -> None:
        os.rmdir(path)


@contextmanager
def _named(fd: int) -> Iterator[None]:
    """The system says nothing of a file that it has by number, and Python at most the number."""
    try:
        yield
    except OSError as error:
        error.filename = link_target(f"/proc/self/fd/{fd}")
        raise


def sync_dir(fx: Effects, path: str) -> None:
    """Bring the names in a directory to the disk."""
    fd = fx.open_dir(path)
    try:
        fx.sync(fd)
    finally:
        fx.close(fd)
