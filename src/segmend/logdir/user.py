"""A user of a system, and what modes and access lists let him do.

Follows Linux, `generic_permission` and `posix_acl_permission`: the first class that names a user counts.
"""

from __future__ import annotations

import grp
import os
import pwd
from typing import Final

from segmend.errors import UsageError
from segmend.formats import posix_acl
from segmend.formats.posix_acl import PosixAcl
from segmend.frozen import frozen

ROOT: Final = 0
NOBODY: Final = 2**32 - 1
"""Linux has 32 bits for a user or a group, and takes the last number for none."""


@frozen
class User:
    """`groups` are all of his groups, his first one (`gid`) among them; `name` None where none is known."""

    uid: int
    gid: int
    groups: frozenset[int]
    name: str | None = None

    @classmethod
    def named(cls, text: str) -> User:
        """`NAME`, `UID` or either with `:GID`; raises `UsageError` for whom nobody can be."""
        who, _, group = text.partition(":")
        for each in filter(str.isdecimal, (who, group)):
            if int(each) >= NOBODY:
                raise UsageError(f"--as-user {text}: {each} is no id: they end at {NOBODY - 1}")
        entry = _entry(who)
        if entry is None and not who.isdecimal():
            raise UsageError(f"--as-user {text}: this machine has no user '{who}'; give UID or UID:GID")
        uid = int(who) if entry is None else entry.pw_uid
        if not group:
            return cls.of(uid)
        gid = _group(group)
        if gid is None:
            raise UsageError(f"--as-user {text}: this machine has no group '{group}'; give UID:GID")
        return cls.of(uid, gid)

    @classmethod
    def of(cls, uid: int, gid: int | None = None) -> User:
        """The user of that id with his groups; where the machine knows none, one of the same number."""
        entry = _entry(str(uid))
        if entry is None:
            first = uid if gid is None else gid
            return cls(uid=uid, gid=first, groups=frozenset((first,)))
        first = entry.pw_gid if gid is None else gid
        groups = {first, *os.getgrouplist(entry.pw_name, first)}
        return cls(uid=uid, gid=first, groups=frozenset(groups), name=entry.pw_name)

    def __str__(self) -> str:
        """As people write him."""
        return f"{self.uid}:{self.gid}" if self.name is None else f"{self.name} ({self.uid}:{self.gid})"

    def may(self, wanted: int, mode: int, uid: int, gid: int, acl: PosixAcl | None = None) -> bool:
        """Whether the system lets him use a file of this mode, owner and group so. Root always may."""
        if self.uid == ROOT:
            return True
        if uid == self.uid:
            granted = mode >> 6
        elif acl is not None:
            return self._by_acl(wanted, mode, gid, acl)
        elif gid in self.groups:
            granted = mode >> 3
        else:
            granted = mode
        return granted & wanted == wanted

    def _by_acl(self, wanted: int, mode: int, gid: int, acl: PosixAcl) -> bool:
        mask = next((each.permissions for each in acl.entries if each.tag == posix_acl.MASK), 7)
        for each in acl.entries:
            if each.tag == posix_acl.USER and each.id == self.uid:
                return each.permissions & mask & wanted == wanted
        mine = [
            each.permissions & mask
            for each in acl.entries
            if (each.tag == posix_acl.OWNING_GROUP and gid in self.groups)
            or (each.tag == posix_acl.GROUP and each.id in self.groups)
        ]
        granted = mine or [mode]
        return any(each & wanted == wanted for each in granted)


def _entry(who: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwuid(int(who)) if who.isdecimal() else pwd.getpwnam(who)
    except (KeyError, OverflowError):
        return None


def _group(text: str) -> int | None:
    if text.isdecimal():
        return int(text)
    try:
        return grp.getgrnam(text).gr_gid
    except KeyError:
        return None
