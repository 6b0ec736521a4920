"""What modes, groups and access lists let a user do, and whom `--as-user` names."""

import os

import pytest

from segmend.errors import UsageError
from segmend.formats.posix_acl import GROUP, MASK, OTHERS, USER, AclEntry, PosixAcl
from segmend.logdir.file_system import READ, SEARCH, WRITE
from segmend.logdir.user import User

KAFKA = User(uid=12345, gid=12345, groups=frozenset((12345, 700)))
BOTH = READ | WRITE


def acl(*entries: tuple[int, int, int]) -> PosixAcl:
    return PosixAcl(entries=tuple(AclEntry(tag=tag, permissions=bits, id=who) for tag, bits, who in entries))


@pytest.mark.parametrize(
    ("wanted", "mode", "uid", "gid", "allowed"),
    [
        (BOTH, 0o600, 12345, 0, True),
        (WRITE, 0o444, 12345, 0, False),
        (READ, 0o044, 12345, 12345, False),  # the owner's bits count, and no others
        (BOTH, 0o660, 0, 700, True),
        (WRITE, 0o642, 0, 700, False),  # the group's bits count, and no others
        (READ, 0o604, 0, 0, True),
        (WRITE, 0o604, 0, 0, False),
        (SEARCH, 0o711, 0, 0, True),
        (READ | SEARCH, 0o711, 0, 0, False),
    ],
)
def test_modes(wanted: int, mode: int, uid: int, gid: int, allowed: bool) -> None:
    assert KAFKA.may(wanted, mode, uid, gid) == allowed
    assert User(uid=0, gid=0, groups=frozenset((0,))).may(wanted, mode, uid, gid)


@pytest.mark.parametrize(
    ("entries", "allowed"),
    [
        ([(USER, 6, 12345), (MASK, 6, 0), (OTHERS, 0, 0)], True),
        ([(USER, 6, 12345), (MASK, 4, 0), (OTHERS, 6, 0)], False),
        ([(USER, 6, 1), (GROUP, 6, 700), (MASK, 6, 0), (OTHERS, 0, 0)], True),
        ([(GROUP, 4, 700), (MASK, 6, 0), (OTHERS, 6, 0)], False),
        ([(USER, 6, 1), (MASK, 6, 0), (OTHERS, 6, 0)], True),
    ],
)
def test_access_lists(entries: list[tuple[int, int, int]], allowed: bool) -> None:
    others = next(bits for tag, bits, _ in entries if tag == OTHERS)
    assert KAFKA.may(BOTH, 0o660 | others, 0, 0, acl(*entries)) == allowed


def test_who_is_named() -> None:
    assert User.named("4000001:77") == User(uid=4000001, gid=77, groups=frozenset((77,)))
    assert User.named("root").uid == User.named("0").uid == 0
    assert User.named("root").name == "root"
    assert User.of(os.getuid()).uid == os.getuid()


@pytest.mark.parametrize("text", ["nobody-is-called-so", "0:no-group-is-called-so", ""])
def test_whom_nobody_knows(text: str) -> None:
    with pytest.raises(UsageError, match="--as-user"):
        User.named(text)
