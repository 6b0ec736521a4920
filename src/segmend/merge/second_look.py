"""What a merge asks of the replicas a second time, where their runs do not tell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from segmend.merge.spans import Span
from segmend.merge.values import Batch


class Keyed(NamedTuple):
    """A record as compaction sees it: its key (or a hash of it), None without one and of control records.

    A `tombstone` may be gone although no later record has its key. No cleaner keeps one that `is_keyless`.
    Within a transaction it has a `producer`; a marker that ends one, too, and says whether it `commits`.
    """

    offset: int
    key: bytes | None
    tombstone: bool
    is_keyless: bool = False
    producer: int | None = None
    commits: bool | None = None


class Look(Protocol):
    """A second look at replicas, by number, where their runs do not tell; offsets are inclusive."""

    def batches(self, replica: int, first: int, last: int) -> Iterator[Batch]:
        """The sound batches that have any of these offsets."""

    def count(self, replica: int, first: int, last: int) -> int:
        """How many records there are at these offsets."""

    def tally(self, replica: int, first: int, last: int) -> tuple[int, tuple[int, ...]]:
        """How many records there are at these offsets, and the first few producer ids."""

    def keys(self, replica: int, first: int, last: int) -> Iterator[Keyed]:
        """The records there by their keys."""

    def aborted(self, replica: int, first: int, last: int) -> Iterator[Span]:
        """Offsets there of transactions that a marker of this replica says were aborted.

        A cleaner takes those at once, whatever comes later. It goes nowhere near an open transaction, so
        what has no marker is none of them.
        """

    def cleaned_at(self, replica: int, offset: int) -> bool:
        """Whether its files show that a cleaner took this offset, which it lacks, and no disk lost it.

        A batch that spans it has a checksum over what the cleaner left. Else the offset index beside the file
        has what comes later where it lies: since that was written no bytes are gone from before it.
        """
