"""Which Kafka release a log dir belongs to: given with `--kafka`, or read off the directory.

Nothing on a disk names the release outright, except the range of `metadata.version` that a
KRaft node registers with. All other traces say "this release or later": a file kind or a
field that older brokers do not write. The newest such trace gives a floor, ZooKeeper's
meta.properties a ceiling (3.9), and so does what it lacks; the guess is the newest release between
them whose traces would look like this. server.log and server.properties beside the dirs may tell more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import total_ordering
from typing import Final

from segmend.errors import UsageError
from segmend.formats import epoch_checkpoint, meta_properties, partition_metadata
from segmend.formats.names import BOOTSTRAP_CHECKPOINT, CLUSTER_METADATA
from segmend.formats.offset_checkpoint import LOG_START_OFFSET
from segmend.frozen import dataclass, field
from segmend.logdir.log_dir import LogDir

_PATTERN = re.compile(r"v?(\d{1,2})\.(\d{1,2})(?:\.(\d{1,2}))?(?:\.(\d{1,2}))?", re.ASCII)

AS_GIVEN: Final = "as given"
"""Why a release counts that was named with `--kafka`."""


class Asked(set[tuple[int, ...]]):
    """The first releases of changed rules, of which an answer was given."""


@total_ordering
@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """A Kafka release, `3.7.1` or `0.10.2.2`; missing parts count as zero. Compares with tuples too.

    `asked` notes by which changes of rules an answer was given, where the release is one of several that
    it may be (see `segmend.node.candidates`).
    """

    numbers: tuple[int, ...]
    asked: Asked | None = None
    padded: tuple[int, int, int, int] = field(init=False, repr=False)
    """Four numbers, whatever was given."""

    def __post_init__(self) -> None:
        a, b, c, d = (*self.numbers, 0, 0, 0, 0)[:4]
        object.__setattr__(self, "padded", (a, b, c, d))

    @classmethod
    def parse(cls, text: str) -> Release:
        """The release of a `--kafka` option; raises `UsageError` for one we have no rules for."""
        match = _PATTERN.fullmatch(text.strip())
        if match is None:
            raise UsageError(f"'{text}' is no Kafka release; give one such as 4.3 or 2.8.2")
        release = cls(tuple(int(part) for part in match.groups() if part is not None))
        if not (0, 8) <= release.numbers[:2] <= NEWEST.numbers[:2]:
            raise UsageError(f"Kafka {release} is not known; the rules of {OLDEST} to {NEWEST} are")
        return release

    @property
    def exact(self) -> Release:
        """The first patch release of one that is told without it: `3.7.0` of `3.7`."""
        return Release(self.padded[: max(len(self.numbers), 3)])

    def __eq__(self, other: object) -> bool:
        key = _key(other)
        return NotImplemented if key is None else self.padded == key

    def __lt__(self, other: Release | tuple[int, ...]) -> bool:
        key = _key(other)
        if self.asked is not None and isinstance(other, tuple):
            self.asked.add(other)
        return NotImplemented if key is None else self.padded < key

    def __hash__(self) -> int:
        return hash(self.padded)

    def __str__(self) -> str:
        return ".".join(map(str, self.numbers))


def _key(other: object) -> tuple[int, ...] | None:
    if isinstance(other, Release):
        return other.padded
    return (*other, 0, 0, 0, 0)[:4] if isinstance(other, tuple) else None


OLDEST: Final = Release((0, 8))
NEWEST: Final = Release((4, 4))
_LAST_WITH_ZOOKEEPER: Final = Release((3, 9))

_TOP_LEVEL: Final = (
    (BOOTSTRAP_CHECKPOINT, (3, 3)),
    (CLUSTER_METADATA, (3, 0)),
    (LOG_START_OFFSET, (0, 11)),
    (meta_properties.FILE_NAME, (0, 9)),
)
_IN_PARTITION: Final = ((partition_metadata.FILE_NAME, (2, 8)), (epoch_checkpoint.FILE_NAME, (0, 11)))
_BY_KIND: Final = {"stray": (3, 7), "future": (1, 1), "delete": (0, 10, 2)}
# From which floor on which release is assumed: the newest whose rules for a disk are those of the floor
# and which leaves no newer trace. 2.4 is the first with cluster.id, 2.2 the last to check indexes at load.
_ERAS: Final = (
    ((3, 7), (4, 4)),
    ((2, 8), (3, 6)),
    ((2, 4), (2, 7)),
    ((0, 11), (2, 2)),
    ((0, 10, 1), (0, 10, 2)),
    ((0, 9), (0, 10, 0)),
    ((0, 8), (0, 8, 2)),
)
# The newest metadata.version each release registers (MetadataVersion.latestProduction and its IV steps).
_BY_METADATA_VERSION: Final = (
    (1, (3, 0)), (2, (3, 1)), (3, (3, 2)), (7, (3, 3)), (8, (3, 4)), (11, (3, 5)), (14, (3, 6)),
    (19, (3, 7)), (20, (3, 8)), (21, (3, 9)), (25, (4, 0)), (27, (4, 1)), (29, (4, 2)), (30, (4, 3)),
)  # fmt: skip
_PATCHES: Final = 99
"""Of patch releases the last, whichever it is."""
_LOOKED_AT: Final = 32
"""Partitions whose names are looked at; more would say the same."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a file beside the dirs says: the release itself (`exact`), or the oldest that it can be."""

    release: Release
    exact: bool
    reason: str


@dataclass(frozen=True, slots=True)
class _Trace:
    since: tuple[int, ...]
    what: str


@dataclass(frozen=True, slots=True)
class Guess:
    """The release taken, why, and the oldest and newest that the disk may be of."""

    release: Release
    reason: str
    oldest: Release
    newest: Release

    @classmethod
    def named(cls, release: Release, reason: str) -> Guess:
        """Of a release that somebody names: `3.7` is each of its patches, `3.7.2` only that one."""
        whole = len(release.numbers) >= (4 if release < (1, 0) else 3)
        newest = release if whole else Release((*release.numbers, _PATCHES))
        return cls(release, reason, release, newest)

    @property
    def several(self) -> bool:
        """Whether it may be another one than the one taken, as far as words tell them apart."""
        low, high = self._ends
        return low != high

    @property
    def words(self) -> str:
        low, high = self._ends
        return f"{low} to {high}" if self.several else str(low)

    @property
    def _ends(self) -> tuple[Release, Release]:
        ends = (each.numbers[: 3 if each < (1, 0) else 2] for each in (self.oldest, self.newest))
        low, high = (Release(tuple(part for part in each if part != _PATCHES)) for each in ends)
        return low, high

    @property
    def same_words(self) -> str:
        """The reason, where all these releases do the same."""
        return f"{self.reason}; any of {self.words} does the same" if self.several else self.reason


def guess_release(log_dirs: Iterable[LogDir], registered: int | None, told: Told | None = None) -> Guess:
    """The release these dirs were last written by, as far as can be told, and how we know.

    `registered` is the highest metadata.version that the node registered with, if it did, `told` what lies
    beside the dirs. Never raises: what cannot be read gives no trace.
    """
    dirs = list(log_dirs)
    if registered is not None:
        release = release_of_level(registered)
        reason = f"the node registered with metadata.version up to {registered}"
        return Guess(release, reason, release, _last_of(release))
    newest = max((t for d in dirs for t in _traces(d)), key=lambda t: t.since, default=None)
    if newest is None:
        return Guess(NEWEST, "nothing on the disk tells a release", OLDEST, NEWEST)
    release = Release(next(last for first, last in _ERAS if newest.since >= first))
    said = f"{newest.what} is written by {Release(newest.since)} and later"
    if release > _LAST_WITH_ZOOKEEPER and any(_written_with_zookeeper(d) for d in dirs):
        release = _LAST_WITH_ZOOKEEPER
        said = f"{said}, and broker.id without node.id by ZooKeeper mode only"
    return _narrowed(Guess(release, said, Release(newest.since), _ceiling(dirs, newest, release)), told)


def _ceiling(dirs: Iterable[LogDir], newest: _Trace, guess: Release) -> Release:
    """The newest release that leaves no more than these traces: each start writes meta.properties anew."""
    identities = [identity for log_dir in dirs if (identity := _properties(log_dir))]
    if newest.since >= (3, 7) or (not identities and newest.since >= (0, 9)):
        return guess if guess == _LAST_WITH_ZOOKEEPER else NEWEST
    if any(meta_properties.CLUSTER_ID in properties for properties in identities):
        return _last_of(Release((3, 6)))
    return _last_of(max(guess, Release((2, 3))) if newest.since >= (0, 11) else guess)


def _narrowed(guess: Guess, told: Told | None) -> Guess:
    """With what server.log or server.properties say, as long as the disk does not say otherwise."""
    if told is None or not guess.oldest <= _last_of(told.release) or not told.release <= guess.newest:
        return guess
    if told.exact:
        return Guess.named(told.release, told.reason)
    oldest = max(guess.oldest, told.release)
    return Guess(max(guess.release, oldest), f"{guess.reason}; {told.reason}", oldest, guess.newest)


def _last_of(release: Release) -> Release:
    return Release((*release.padded[: 3 if release < (1, 0) else 2], _PATCHES))


def release_of_level(metadata_version: int) -> Release:
    """The first release that knows this level of the feature `metadata.version`."""
    return next((Release(r) for highest, r in _BY_METADATA_VERSION if metadata_version <= highest), NEWEST)


def highest_level(release: Release) -> int:
    """The highest level of the feature `metadata.version` that the release supports; 0 before KRaft."""
    return max((level for level, since in _BY_METADATA_VERSION if release >= since), default=0)


def _traces(log_dir: LogDir) -> Iterator[_Trace]:
    for name, since in _TOP_LEVEL:
        if name in log_dir.entries:
            yield _Trace(since, name)
    yield from _identity_traces(log_dir)
    for partition in log_dir.partitions[:_LOOKED_AT]:
        if partition.kind in _BY_KIND:
            yield _Trace(_BY_KIND[partition.kind], f"a -{partition.kind} directory")
        for name, since in _IN_PARTITION:
            if name in partition.entries:
                yield _Trace(since, name)
        if partition.layout.timeindex:
            yield _Trace((0, 10, 1), "a .timeindex file")
        if partition.layout.snapshots:
            yield _Trace((0, 11), "a .snapshot file")
        if partition.layout.logs:
            yield _Trace((0, 8), "a .log file")


def _identity_traces(log_dir: LogDir) -> Iterator[_Trace]:
    quorum = None if log_dir.cluster_metadata is None else log_dir.cluster_metadata.quorum_state.value
    if quorum is not None and quorum.data_version == 1:
        yield _Trace((3, 9), "version 1 of quorum-state")
    if (log_dir.clean_shutdown.data or b"").strip():
        yield _Trace((3, 7), "a broker epoch in .kafka_cleanshutdown")
    properties = _properties(log_dir)
    if meta_properties.DIRECTORY_ID in properties:
        yield _Trace((3, 7), "directory.id in meta.properties")
    if properties.get(meta_properties.VERSION, "").strip() == "1":
        yield _Trace((2, 8), "version 1 of meta.properties")
    if meta_properties.CLUSTER_ID in properties:
        yield _Trace((2, 4), "cluster.id in meta.properties")


def _written_with_zookeeper(log_dir: LogDir) -> bool:
    properties = _properties(log_dir)
    return meta_properties.BROKER_ID in properties and meta_properties.NODE_ID not in properties


def _properties(log_dir: LogDir) -> Mapping[str, str]:
    """What meta.properties says; nothing where it is not there, or cannot be read."""
    value = log_dir.meta_properties.value
    return {} if value is None else value.properties.as_dict()
