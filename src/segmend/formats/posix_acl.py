"""The attribute `system.posix_acl_access`: who besides owner and group may use a file.

Follows Linux, `include/uapi/linux/posix_acl_xattr.h`: a version, then entries of tag, permissions and id,
little-endian. The one Damage kind is `malformed`.
"""

from __future__ import annotations

import struct
from typing import Final

from segmend.formats.damage import Damage
from segmend.frozen import frozen

ATTRIBUTE: Final = "system.posix_acl_access"
VERSION: Final = 2
OWNER, USER, OWNING_GROUP, GROUP, MASK, OTHERS = 0x01, 0x02, 0x04, 0x08, 0x10, 0x20
NO_ID: Final = 2**32 - 1
_HEAD = struct.Struct("<I")
_ENTRY = struct.Struct("<HHI")


@frozen
class AclEntry:
    """`permissions` are the bits r 4, w 2, x 1; `id` is a user's or a group's, by the tag."""

    tag: int
    permissions: int
    id: int = NO_ID


@frozen
class PosixAcl:
    entries: tuple[AclEntry, ...]


def parse(data: bytes) -> tuple[PosixAcl | None, tuple[Damage, ...]]:
    """The entries; None where it is no such list."""
    if len(data) < _HEAD.size or (len(data) - _HEAD.size) % _ENTRY.size:
        return None, (Damage("malformed", len(data), f"{len(data)} bytes are no list of entries"),)
    version = _HEAD.unpack_from(data)[0]
    if version != VERSION:
        return None, (Damage("malformed", 0, f"version {version} instead of {VERSION}"),)
    rows = _ENTRY.iter_unpack(data[_HEAD.size :])
    return PosixAcl(entries=tuple(AclEntry(tag=tag, permissions=bits, id=who) for tag, bits, who in rows)), ()


def render(acl: PosixAcl) -> bytes:
    rows = (_ENTRY.pack(each.tag, each.permissions, each.id) for each in acl.entries)
    return _HEAD.pack(VERSION) + b"".join(rows)
