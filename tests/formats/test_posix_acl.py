"""`system.posix_acl_access`."""

import pytest

from segmend.formats import posix_acl
from segmend.formats.posix_acl import AclEntry, PosixAcl, parse, render

ENTRIES = (
    AclEntry(tag=posix_acl.OWNER, permissions=6),
    AclEntry(tag=posix_acl.USER, permissions=6, id=12345),
    AclEntry(tag=posix_acl.OTHERS, permissions=0),
)


def test_what_is_rendered_is_read() -> None:
    assert parse(render(PosixAcl(entries=ENTRIES))) == (PosixAcl(entries=ENTRIES), ())


@pytest.mark.parametrize("data", [b"", b"\x02\0\0", b"\x01\0\0\0", render(PosixAcl(entries=ENTRIES))[:-1]])
def test_what_is_no_list(data: bytes) -> None:
    value, (damage,) = parse(data)
    assert (value, damage.kind) == (None, "malformed")
