"""Rows of the outcome table: one damage, and what section 6 of the facts says that a start makes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

Hurt = Callable[[Sequence[Path]], None]


@dataclass(frozen=True, kw_only=True)
class Row:
    """`after` is (log start, log end) of `t-0`, None where it is not served.

    `effects` are those that must be told of `t-0`, and `says` is in what the broker logs or
    in the reason it gives. `clean`: with the marker or after a kill.
    """

    name: str
    hurt: Hurt
    clean: bool = True
    starts: bool = True
    online: bool = True
    after: tuple[int, int] | None = (0, 0)
    effects: frozenset[str] = frozenset()
    says: str = ""
    lost: bool | None = None
    release: str = "4.3.1"
