"""What a rescue is asked for, what the writer of one partition is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Literal

from segmend.broker.cleanup_policy import POLICY
from segmend.formats.java_number import LONG_MAX, LONG_MIN
from segmend.frozen import field, frozen, replace
from segmend.logdir.config import ServerConfig
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.release import Release
from segmend.merge.fates import Fates
from segmend.merge.packed import Packed
from segmend.merge.pieces import Piece, pieces
from segmend.merge.values import Merged, Range, Replica
from segmend.rescue.decoders import Decode
from segmend.rescue.lines import CompactedCount, DecodedCount, FormFacts

Compacting = Literal["known", "all"]
"""Which logs are to be compacted: those whose topic is known to be, or whatever is asked for."""


@frozen
class CompactionResult:
    """What a compaction on request left out, or why it was not done.

    `skipped` if nobody expects it to be, `refused` where it would break something.
    """

    superseded: int = 0
    aborted: int = 0
    skipped: str = ""
    refused: str = ""

    @property
    def done(self) -> bool:
        """Whether the log is compacted."""
        return not (self.skipped or self.refused)

    def to_json(self) -> CompactedCount:
        """As it stands in the report."""
        if self.done:
            return {"superseded": self.superseded, "aborted": self.aborted}
        return {"not": self.refused or self.skipped}


@frozen
class RescueRequest:
    """The options. Offsets and times (ms) are inclusive."""

    dirs: tuple[str, ...]
    out: str
    form: str
    topic: str | None = None
    committed_only: bool = False
    offsets: tuple[int, int] | None = None
    since: int | None = None
    until: int | None = None
    release: Release | None = None
    broker: int | None = None
    decode: tuple[Decode, ...] = ()
    bootstrap: str | None = None
    """Of the cluster, where the form is one; `client_config` is a file of librdkafka's settings."""
    client_config: str | None = None
    create_topics: bool = False
    append: bool = False
    compact: Compacting | None = None
    configs: tuple[ServerConfig, ...] = ()
    """The server.properties of brokers, as far as they were given."""
    salvage: bool = False
    """Whether records of batches whose checksum fails are wanted where no replica has sound ones."""

    def wants(self, key: tuple[str, int]) -> bool:
        """Whether a partition is asked for."""
        return fnmatchcase(key[0], self.topic or "*")

    @property
    def low(self) -> int:
        """The first offset that is wanted."""
        return LONG_MIN if self.offsets is None else self.offsets[0]

    @property
    def high(self) -> int:
        """The last offset that is wanted."""
        return LONG_MAX if self.offsets is None else self.offsets[1]

    @property
    def sides(self) -> tuple[str, ...]:
        """What is decoded of each record."""
        return tuple(each.side for each in self.decode)

    @property
    def identity(self) -> dict[str, object]:
        """All by which one rescue is told from another: the first line of the journal."""
        return {
            "type": "rescue",
            "as": self.form,
            "dirs": list(self.dirs),
            "topic": self.topic,
            "isolation": "read_committed" if self.committed_only else "read_uncommitted",
            "offsets": None if self.offsets is None else list(self.offsets),
            "since": self.since,
            "until": self.until,
            "kafka": None if self.release is None else str(self.release),
            "broker": self.broker,
            **({"compact": self.compact} if self.compact else {}),
            **({"policies": [each.given.get(POLICY) for each in self.configs]} if self.configs else {}),
            **({"salvage": True} if self.salvage else {}),
            **({"decode": [str(each) for each in self.decode]} if self.decode else {}),
        }


@frozen
class Due:
    """A partition that is to be written; `size` is that of its largest replica, `place` where that lies."""

    topic: str
    partition: int
    size: int
    place: PartitionDir | None = None


@frozen
class Job:
    """One partition: what is to be written of which replicas. `release` is whose rules count.

    `chosen` are all records that the merge takes, whichever of them are asked for.
    """

    request: RescueRequest
    topic: str
    partition: int
    places: Sequence[PartitionDir]
    replicas: Sequence[Replica]
    merged: Merged
    pieces: Packed[Piece]
    chosen: int
    fates: Callable[[], Fates]
    """How its transactions ended, found out when first asked for."""
    release: Release
    compaction: CompactionResult | None = None

    @property
    def name(self) -> str:
        """As its directory is called."""
        return f"{self.topic}-{self.partition}"


def within(job: Job, low: int, high: int) -> Job:
    request = replace(job.request, offsets=(low, high))
    parts = Packed(Piece, pieces(job.replicas, job.places, ranges_within(job.merged.ranges, request)))
    return replace(job, request=request, pieces=parts)


def ranges_within(ranges: Sequence[Range], request: RescueRequest) -> Iterator[Range]:
    """What is wanted of these ranges."""
    for each in ranges:
        low, high = max(each.first_offset, request.low), min(each.last_offset, request.high)
        if low <= high:
            yield Range(
                replica=each.replica, first_offset=low, last_offset=high,
                unacknowledged=each.unacknowledged, superseded=each.superseded,
            )  # fmt: skip


Undecodable = tuple[str, int, str, str]
"""A batch whose records could not be read after all: file, position, kind, log dir."""


@frozen
class Written:
    """What became of the records: `records` are in OUT, `left_out` are those of aborted transactions.

    `aborted` are all records of aborted transactions, `open` those whose transaction has no known end,
    `unacknowledged` those that no high watermark reaches, `salvaged` those of batches whose checksum fails;
    `marked` is any of these. `decoded` is what became of keys and values that were to be decoded,
    `facts` what the form itself has to remember.
    """

    records: int = 0
    bytes: int = 0
    aborted: int = 0
    left_out: int = 0
    open: int = 0
    unacknowledged: int = 0
    salvaged: int = 0
    marked: int = 0
    undecodable: tuple[Undecodable, ...] = ()
    decoded: Mapping[str, DecodedCount] = field(default_factory=dict)
    facts: FormFacts = field(default_factory=FormFacts)
