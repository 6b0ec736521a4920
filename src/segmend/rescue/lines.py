"""The lines of the report of a rescue or an export, as the journal has them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias, TypedDict

from segmend.cluster.gathered import PassedOverObject
from segmend.json_values import JsonObject


class DivergedSpan(TypedDict, total=False):
    """Offsets of a branch that lost; journals of old do not tell of which producers."""

    broker: int | None
    dir: str
    first_offset: int
    last_offset: int
    records: int
    epoch: int
    producers: Sequence[int]


class SourceCount(TypedDict):
    """How much one replica gave."""

    broker: int | None
    dir: str
    batches: int
    bytes: int


# Some names are words of Python.
DecodedCount = TypedDict(
    "DecodedCount",
    {"as": str, "decoded": int, "raw": int, "null": int, "reasons": Mapping[str, int], "schema": object},
)


CompactedCount = TypedDict(
    "CompactedCount", {"superseded": int, "aborted": int, "not": str | None}, total=False
)
"""What a compaction left out; or why there was none (`not`)."""


class DatedFile(TypedDict):
    """A file of the records of a day."""

    file: str
    date: str | None
    rows: int
    size: int


class FilesWritten(TypedDict):
    """A file or directory of OUT as it was when it was whole: how many files, and their bytes."""

    name: str
    files: int
    bytes: int


class FormFacts(TypedDict, total=False):
    """What the forms have to remember of a partition: files, offsets in OUT or in a cluster, words."""

    file: str
    rows: int
    size: int
    held: FilesWritten
    files: Sequence[DatedFile]
    reached: Mapping[str, int]
    next_offset: int
    log_start_offset: int
    open_since: int
    sent: int
    next_target_offset: int
    notes: Sequence[str]
    doubts: Sequence[str]


class PartitionLine(TypedDict, total=False):
    """What was written of a partition, and what is not as it should be; or why it was `refused`."""

    type: Literal["partition"]
    topic: str
    partition: int
    refused: str
    first_offset: int
    next_offset: int
    records: int
    aborted: int
    marked: int
    missing: Sequence[tuple[int, int]]
    diverged: Sequence[DivergedSpan]
    sources: Sequence[SourceCount]
    bytes: int
    left_out: int
    open: int
    unacknowledged: int
    read: int
    gaps: bool
    duplicates: int
    not_asked_for: int
    unread: Sequence[str]
    unreadable: Sequence[Sequence[str | int]]
    conflicts: Sequence[Mapping[str, object]]
    doubts: Sequence[str]
    assumed: Sequence[str]
    salvaged: Sequence[Sequence[int]]
    decoded: Mapping[str, DecodedCount]
    compacted: CompactedCount
    form: FormFacts


class VanishedPartition(TypedDict):
    """One that is in none of the dirs."""

    topic: str
    partition: int
    why: str


class UntoldPolicy(TypedDict):
    """A topic, and what its gaps were taken for."""

    topic: str
    gaps: str


class SummaryLine(PassedOverObject, total=False):
    """The last line: sums, what is not there, what was not looked at; `again` where it is told once more."""

    type: Literal["summary"]
    held: Sequence[FilesWritten]
    partitions: int
    records: int
    bytes: int
    missing: int
    marked: int
    aborted: int
    vanished: Sequence[VanishedPartition]
    refused: int
    unreadable: int
    policy_untold: Sequence[UntoldPolicy]
    salvaged: int
    seconds: float
    again: bool


Line: TypeAlias = PartitionLine | SummaryLine
Asked: TypeAlias = JsonObject
"""The first line of a journal: what was asked for."""
