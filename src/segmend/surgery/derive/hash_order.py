"""The order in which a broker's hash map gives its keys, when they are producer ids.

Three maps served the producers of `ProducerStateManager`: Scala's up to 2.12, Scala's of 2.13,
and Java's since 3.5. A map that once was larger keeps its room, so after many producers
expired the order may be another one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from segmend.broker.rule import Rule

_SMALLEST: Final = 16
_INT: Final = 0xFFFF_FFFF


def java(keys: Sequence[int]) -> list[int]:
    """`java.util.HashMap`: it grows when it holds more than three quarters of its room."""
    return _by_bucket(keys, _room(len(keys), 1), lambda key: _spread(_hash_of_long(key)))


def scala_2_13(keys: Sequence[int]) -> list[int]:
    """`scala.collection.mutable.HashMap` of 2.13: it grows one earlier; a bucket is sorted by hash."""
    ordered = sorted(keys, key=lambda key: _signed(_spread(_hash_in_scala(key))))
    return _by_bucket(ordered, _room(len(keys), 0), lambda key: _spread(_hash_in_scala(key)))


def scala_2_12(keys: Sequence[int]) -> list[int]:
    """`scala.collection.mutable.HashMap` up to 2.12: the last bucket first, the newest first in it.

    When it grows, the entries of each bucket are put in front of one another again.
    """
    table: list[list[int]] = [[] for _ in range(_SMALLEST)]
    for count, key in enumerate(keys, 1):
        _put_in_front(table, key)
        if count > len(table) * 3 // 4:
            old, table = table, [[] for _ in range(2 * len(table))]
            for kept in (each for bucket in reversed(old) for each in bucket):
                _put_in_front(table, kept)
    return [key for bucket in reversed(table) for key in bucket]


def _put_in_front(table: list[list[int]], key: int) -> None:
    shift = 33 - len(table).bit_length()
    table[_improved(_hash_in_scala(key)) >> shift].insert(0, key)


def _room(count: int, spare: int) -> int:
    room = _SMALLEST
    while count >= room * 3 // 4 + spare:
        room *= 2
    return room


def _by_bucket(keys: Sequence[int], room: int, place: Callable[[int], int]) -> list[int]:
    return sorted(keys, key=lambda key: place(key) & (room - 1))


def _hash_of_long(key: int) -> int:
    key &= 0xFFFF_FFFF_FFFF_FFFF
    return (key ^ key >> 32) & _INT


def _hash_in_scala(key: int) -> int:
    """`##` of a boxed Long: that of an Int where it is one."""
    return key & _INT if -(1 << 31) <= key < 1 << 31 else _hash_of_long(key)


def _spread(number: int) -> int:
    return number ^ number >> 16


def _signed(number: int) -> int:
    return number - (1 << 32) if number >> 31 else number


def _improved(number: int) -> int:
    """`HashTable.HashUtils.improve` with the seed of a table made for 16."""
    mixed = number * 0x9E3775CD & _INT
    mixed = int.from_bytes(mixed.to_bytes(4, "little"), "big") * 0x9E3775CD & _INT
    return (mixed >> 4 | mixed << 28) & _INT


HASH_ORDER: Rule[Callable[[Sequence[int]], list[int]]] = Rule(
    "ProducerStateManager.producers; Scala 2.13 is the default download from 2.6, Java from 3.5",
    (((0, 8), scala_2_12), ((2, 6), scala_2_13), ((3, 5), java)),
)
