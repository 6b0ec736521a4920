"""What a forecast says: plain values, and their `--json` objects (keys as in the contract)."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from segmend.broker.retention import RetentionLimit
from segmend.formats.names import DirKind
from segmend.frozen import AsJson, field, frozen
from segmend.loading.timing.estimate import Estimate

EFFECTS: Final = {
    "index-rebuilt": "an index is missing or fails its sanity check; the segment is scanned and cut if bad",
    "index-created": "a missing index file is created empty and never filled",
    "index-trimmed": "an index is cut to the entries of its log",
    "tail-truncated": "the end of the log is cut off, or out of reach from now on",
    "segment-emptied": "a segment is cut to nothing",
    "segments-deleted": "whole segments are deleted",
    "segment-skipped": "a log file is not loaded: shadowed by its padded name, or not readable",
    "file-deleted": "a left-over or orphaned file is deleted",
    "swap-completed": "a compaction that was cut short is completed",
    "directory-deleted": "the directory is deleted",
    "stray-renamed": "the directory is set aside under a name that ends in -stray",
    "snapshot-rebuilt": "the producer state is read from the log again, or taken for empty",
    "snapshot-deleted": "a producer snapshot is deleted",
    "epochs-rewritten": "leader-epoch-checkpoint is written anew with other entries",
    "log-start-moved": "the log starts at another offset",
    "high-watermark-reset": "the log ends before what the checkpoint says was in it",
    "checkpoint-reset": "a checkpoint cannot be read and counts as empty",
    "recovery-scan": "the segment is read from end to end, its CRCs checked and its indexes rebuilt",
    "log-recreated-empty": "an empty log takes the place of this one",
    "partition-unserved": "the broker starts, but no client gets anything of this partition",
    "metadata-lost": "what the cluster's metadata says of topics and replicas is not there any more",
    "reads-fail": (
        "the broker starts, but a consumer gets an error there, misses records, or gets some twice or aborted"
    ),
}
"""Every effect, and what it means. The list is closed."""

WHOLE: Final = frozenset({"stray-renamed", "log-recreated-empty", "partition-unserved"})
"""Effects that take a whole partition, by a cause that is none of its own."""

ONCE_LOADED: Final = ("partition-unserved", "log-recreated-empty")
"""What comes of partitions once all logs are loaded, and so never where the start ends before."""
HARMLESS: Final = frozenset(
    {"recovery-scan", "snapshot-deleted", "snapshot-rebuilt", "file-deleted", "index-rebuilt",
     "index-created", "index-trimmed", "epochs-rewritten", "swap-completed", "high-watermark-reset",
     "partition-unserved", "log-recreated-empty"}
)  # fmt: skip
"""Effects that take no record from a reader unless they say so in `records_lost`."""


class Service(StrEnum):
    """What clients have of a partition on this broker after the start."""

    SERVED = "served"
    EMPTY = "empty"
    UNSERVED = "unserved"
    STRAY = "stray"
    OFFLINE = "offline"


@frozen
class Extent(AsJson):
    """What there is of a partition: offsets, number of segments, bytes of its logs. None: not served."""

    log_start_offset: int | None = None
    log_end_offset: int | None = None
    segments: int | None = None
    bytes: int | None = None


@frozen
class Effect(AsJson):
    """One thing that the start does; `file` is relative to the log dir.

    `records_lost` counts what readers had and will not get any more (control records not
    counted), `bytes_lost` the bytes of it; timestamps are ms, -1 if unknown.
    """

    effect: str
    file: str | None = None
    offset: int | None = None
    records_lost: int = 0
    bytes_lost: int = 0
    broker_says: str | None = None
    first_timestamp: int = -1
    last_timestamp: int = -1

    @property
    def loses(self) -> bool:
        """Whether a reader misses something after it."""
        unwritten = self.effect == "tail-truncated" and not self.bytes_lost  # zeros of a preallocated log
        return self.records_lost > 0 or not (unwritten or self.effect in HARMLESS)


@frozen
class Concerned(AsJson):
    """Whose state a partition of an internal topic holds (`what` they are), as far as its records tell.

    Who is named in records that a start takes away or out of reach (`gone`), and in those that it leaves.
    `whole`: all of its segments were looked at. What cannot be read may be of these, or of others.
    """

    what: str
    gone: tuple[str, ...]
    stays: tuple[str, ...]
    whole: bool


@frozen
class PartitionOutcome:
    """One current replica. `failure` is what ends its load, in the broker's words.

    `reason` says why it is not served, or served empty: `after` has then no offsets, or those of a new log.
    `not_reached`: it would be, but for another one before it over which the broker goes no further.
    """

    dir: str
    name: str
    topic: str
    partition: int
    before: Extent
    after: Extent
    effects: tuple[Effect, ...] = ()
    failure: str | None = None
    segments: int = 0
    outcome: Service = Service.SERVED
    reason: str | None = None
    not_reached: bool = False
    concerns: Concerned | None = None

    @property
    def matters(self) -> bool:
        """Whether an operator must read about it: a loss, a load that fails, or no service."""
        return self.failure is not None or self.unserved or self.loses

    @property
    def loses(self) -> bool:
        """Whether a reader misses something after the start."""
        return any(effect.loses for effect in self.effects)

    @property
    def unserved(self) -> bool:
        return self.outcome not in (Service.SERVED, Service.EMPTY)

    @property
    def records_lost(self) -> int:
        return sum(effect.records_lost for effect in self.effects)

    @property
    def bytes_lost(self) -> int:
        return sum(effect.bytes_lost for effect in self.effects)

    def to_json(self) -> dict[str, object]:
        return {
            "type": "partition",
            "dir": self.dir,
            "topic": self.topic,
            "partition": self.partition,
            "file": self.name,
            "before": self.before.to_json(),
            "after": self.after.to_json(),
            "effects": [effect.to_json() for effect in self.effects],
            "failure": self.failure,
            "outcome": self.outcome,
            "reason": self.reason,
            "concerns": None if self.concerns is None else self.concerns.to_json(),
        }


@frozen
class DirectoryOutcome:
    """A directory that is no current replica: `-future`, `-delete`, `-stray`, foreign, metadata."""

    dir: str
    name: str
    kind: DirKind
    outcome: str
    topic: str | None = None
    partition: int | None = None
    effects: tuple[Effect, ...] = ()
    failure: str | None = None

    @property
    def matters(self) -> bool:
        """Whether an operator must read about it."""
        return self.failure is not None or self.loses

    @property
    def loses(self) -> bool:
        """Whether a reader misses something after the start."""
        return any(effect.loses for effect in self.effects)

    def to_json(self) -> dict[str, object]:
        return {
            "type": "directory",
            "dir": self.dir,
            "file": self.name,
            "kind": self.kind,
            "outcome": self.outcome,
            "topic": self.topic,
            "partition": self.partition,
            "effects": [effect.to_json() for effect in self.effects],
            "failure": self.failure,
        }


@frozen
class DirOutcome:
    """One log dir; without topics of its own (`metadata_alone`) it never has the clean shutdown marker."""

    dir: str
    online: bool
    clean_shutdown: bool
    reason: str | None = None
    effects: tuple[Effect, ...] = ()
    metadata_alone: bool = False

    def to_json(self) -> dict[str, object]:
        return {
            "type": "dir",
            "dir": self.dir,
            "outcome": "online" if self.online else "offline",
            "clean_shutdown": self.clean_shutdown,
            "metadata_alone": self.metadata_alone,
            "reason": self.reason,
            "effects": [effect.to_json() for effect in self.effects],
        }


TOO_EARLY: Final = "by their own timestamps records of it are younger than that"
"""Of what a damaged time index, or the time of a file, lets retention delete."""


COMPACTED: Final = "compacted"
"""`what` of a log that the cleaner takes for the first time."""


@frozen
class Later:
    """What happens in the first minutes after the start; `seconds` after it, or None if not sure.

    `limit` is the one by which retention deletes; None for what is deleted for another reason. `undue` says
    that it does so too early: records that it deletes are younger than that by their own timestamps. `fails`
    says that it is no lawful deletion: partitions are not served from then on.
    """

    dir: str
    file: str
    what: str
    why: str
    seconds: int | None
    topic: str | None = None
    partition: int | None = None
    segments: int = 0
    records_lost: int = 0
    bytes_lost: int = 0
    broker_says: str | None = None
    limit: RetentionLimit | None = None
    undue: bool = False
    fails: bool = False

    def to_json(self) -> dict[str, object]:
        return {
            "type": "later",
            "dir": self.dir,
            "file": self.file,
            "topic": self.topic,
            "partition": self.partition,
            "what": self.what,
            "when_seconds": self.seconds,
            "why": self.why,
            "segments": self.segments,
            "records_lost": self.records_lost,
            "bytes_lost": self.bytes_lost,
            "undue": self.undue,
            "broker_says": self.broker_says,
        }


@frozen
class Losses(AsJson):
    """What readers had and miss after a start: partitions that lose anything, records and bytes counted."""

    partitions: int = 0
    records: int = 0
    bytes: int = 0


@frozen
class BrokerOutcome:
    """The whole start, and how far it is known.

    `unserved` counts partitions that no client gets from this broker. `unknown` names what matters here and
    could not be read, `assumed` the ordinary that was taken for granted. `offline` are its dirs that fail.
    `supposed` is what has to be so, if what is told is the worst of several. `joined` says that it ends only
    over its logs, which it loads once there is a metadata quorum: a voter has voted by then. `metadata_lost`
    is cut off the metadata log; a node whose quorum lives gets it again.
    """

    starts: bool
    reason: str | None
    seconds: float
    release: str
    release_reason: str
    lost: Losses = field(default_factory=Losses)
    unserved: int = 0
    unknown: tuple[str, ...] = ()
    assumed: tuple[str, ...] = ()
    partitions: int = 0
    offline: int = 0
    time: Estimate | None = None
    supposed: str | None = None
    joined: bool = False
    metadata_lost: Losses = field(default_factory=Losses)

    @property
    def nothing_lost(self) -> bool:
        """Whether it can be said that the start takes nothing from anybody, and each dir serves."""
        lost = self.lost.partitions or self.metadata_lost.partitions
        return self.starts and not (lost or self.unserved or self.unknown or self.offline)

    def to_json(self) -> dict[str, object]:
        return {
            "type": "broker",
            "outcome": "starts" if self.starts else "refuses",
            "reason": self.reason,
            "seconds": round(self.seconds, 2),
            "breakdown": None if self.time is None else self.time.to_json(),
            "kafka": self.release,
            "kafka_because": self.release_reason,
            "lost": self.lost.to_json(),
            "unserved": self.unserved,
            "offline": self.offline,
            "supposed": self.supposed,
            "unknown": list(self.unknown),
            "assumed": list(self.assumed),
            "records_lost": self.lost.records,
            "bytes_lost": self.lost.bytes,
            "metadata_is_lost": self.metadata_lost.partitions > 0,
            "metadata_records_lost": self.metadata_lost.records,
            "partitions": self.partitions,
            "skipped": [*self.unknown, *self.assumed],
        }
