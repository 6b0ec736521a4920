"""One partition while it is loaded: the names, segments and snapshots as they stand at that moment."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping

from segmend.broker.index_room import OF_BROKER
from segmend.broker.remote_storage import RemoteStorage
from segmend.broker.sanity import INDEX_SANITY, IndexSanity
from segmend.broker.search import SEARCH, Search
from segmend.formats.names import file_prefix, is_found
from segmend.formats.producer_snapshot import ProducerStateEntry
from segmend.frozen import dataclass, field, frozen
from segmend.loading.epochs import EpochCache
from segmend.loading.segment import End, Lost, Segment
from segmend.loading.timing.estimate import Work
from segmend.loading.values import Effect
from segmend.logdir.config import DEFAULTS
from segmend.logdir.file_system import HELD_BACK_NOTHING, HeldBack
from segmend.logdir.files import FileEntry
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.release import Release

States = dict[int, ProducerStateEntry]
"""What a broker knows of each producer, by producer id."""


@frozen
class Settings:
    """What `LogLoader` is given. `interval` is index.interval.bytes, a guess unless known; `longest_index` is
    segment.index.bytes, `segment_bytes` the length of a preallocated log; `recover` is False for a directory
    that waits for its deletion; `remote` is what it makes of segments that are in remote storage only.
    `turned` is an offset whose snapshots are listed the other way round, `swap_order` has the base offsets of
    swap files as they are completed; `drops_epochs` says that it keeps neither leader epochs nor, as in a log
    without snapshots, what producers there were."""

    release: Release
    clean: bool
    recovery_point: int = 0
    log_start: int = 0
    interval: int = 4096
    interval_known: bool = True
    longest_index: int = DEFAULTS[OF_BROKER]
    segment_bytes: int = 1 << 30
    recover: bool = True
    remote: RemoteStorage = RemoteStorage.NONE
    turned: int | None = None
    drops_epochs: bool = False
    swap_order: tuple[int, ...] = ()


@dataclass(slots=True, kw_only=True)
class Snapshots:
    """The producer snapshots: `disk` has by offset what is there, under the names as they are listed; `known`
    is what the broker goes by, the states where it was just written.

    Of several names of one offset (`contested`) its map keeps the one that is put in last; where it has none
    (`mapped`), the first that is listed counts. `turned` is an offset whose names are listed the other way.
    """

    mapped: bool
    turned: int | None
    disk: dict[int, dict[str, FileEntry | States]] = field(default_factory=dict)
    known: dict[int, FileEntry | States] = field(default_factory=dict)
    contested: dict[int, list[str]] = field(default_factory=dict)
    unfound: set[int] = field(default_factory=set)

    def add(self, offset: int, file: FileEntry) -> None:
        """What a listing has next."""
        self._put(offset, {**self.disk.get(offset, {}), file.name: file})
        if not is_found(file.name):
            self.unfound.add(offset)

    def _put(self, offset: int, files: dict[str, FileEntry | States]) -> None:
        self.disk[offset] = files
        if len(files) > 1:
            self.contested[offset] = [*files]
        if files:
            self.known[offset] = [*files.values()][-1 if self.mapped != (offset == self.turned) else 0]
        else:
            self.known.pop(offset, None)

    def keep(self, names: Mapping[str, str]) -> None:
        """Of those that can be found, the others are gone."""
        for offset, files in self.disk.items():
            if not files.keys() <= names.keys():
                self._put(offset, {n: file for n, file in files.items() if n in names or not is_found(n)})

    def list_again(self) -> None:
        """As each manager of producers does: what was not known, or could not be deleted, is there again."""
        for offset in self.unfound.union(self.contested):
            self._put(offset, self.disk[offset])

    def write(self, offset: int, states: States) -> None:
        """Under the name that a broker gives it; listed first, where it was not there."""
        name, there = f"{file_prefix(offset)}.snapshot", self.disk.get(offset, {})
        self._put(offset, {**there, name: states} if name in there else {name: states, **there})
        if self.mapped:
            self.known[offset] = states

    def discard(self, offset: int) -> None:
        """Delete the one that is known, if it can be found."""
        gone, files = self.known.pop(offset), self.disk[offset]
        left = {name: file for name, file in files.items() if file is not gone or not is_found(name)}
        if self.mapped:
            self.disk[offset] = left
        else:
            self._put(offset, left)

    def delete(self, offset: int) -> None:
        while offset in self.known:
            self.discard(offset)

    def clear(self) -> None:
        for offset in [*self.known]:
            self.delete(offset)

    def is_there(self, offset: int, name: str) -> bool:
        return name in self.disk.get(offset, {})


@dataclass(slots=True, kw_only=True)
class LoadState:
    """`names` are the files that are left, and what each is called on disk until its rename is real.

    `held_back` are those that the broker's user may not use, by their names on disk. `ongoing` are
    the first offsets of open transactions where they are not those of `states`; `forgets_producers`, whether
    the log is taken for one that has none. `closed_index` is what the broker says of the first index that it
    cannot open when it is looked up, `closed_epochs` why the leader epochs cannot be written with the first
    batch.
    """

    partition: PartitionDir
    settings: Settings
    names: dict[str, str]
    held_back: HeldBack = HELD_BACK_NOTHING
    segments: list[Segment] = field(default_factory=list)
    snapshots: Snapshots
    snapshot_faults: dict[str, str] = field(default_factory=dict)
    epochs: EpochCache = field(default_factory=EpochCache)
    states: States = field(default_factory=dict)
    ongoing: set[int] | None = None
    forgets_producers: bool = False
    end: End | None = None
    effects: list[Effect] = field(default_factory=list)
    closed_index: str | None = None
    closed_epochs: str | None = None
    scanned_bytes: int = 0
    scanned_batches: int = 0
    scanned_segments: int = 0
    replayed_bytes: int = 0
    replayed_batches: int = 0
    _found: dict[str, FileEntry] = field(default_factory=dict)

    def ending(self, suffix: str) -> list[str]:
        """The files of that kind that are left, by name."""
        return sorted(name for name in self.names if name.endswith(suffix))

    @property
    def work(self) -> Work:
        """What the load has opened and read so far."""
        checked = INDEX_SANITY.of(self.settings.release) != IndexSanity.NONE
        return Work(
            partitions=1,
            segments=len(self.segments),
            checked=len(self.segments) if checked else 0,
            recovered=self.scanned_segments,
            scanned_bytes=self.scanned_bytes,
            scanned_batches=self.scanned_batches,
            replayed_bytes=self.replayed_bytes,
            replayed_batches=self.replayed_batches,
        )

    @property
    def how(self) -> Search:
        """How this release searches a log for an offset."""
        return SEARCH.of(self.settings.release)

    def file(self, name: str) -> FileEntry | None:
        """A file that is left, by the name it has by now; one value each, so that each is looked at once."""
        on_disk = self.names.get(name)
        if on_disk is None:
            return None
        file = self._found.get(on_disk) or self.partition.file(on_disk)
        if file is not None:
            self._found[on_disk] = file
        return file

    def swap_log(self, base: int) -> FileEntry | None:
        """What is opened for a `.log.swap` of that number: an empty one is made where it is not padded."""
        name = f"{file_prefix(base)}.log.swap"
        self.names.setdefault(name, "")  # not what had that name and was renamed before
        return self.file(name)

    def unwritable(self, name: str) -> str | None:
        """Why a file that is left cannot be opened to be written; None where it can, or is not there."""
        if not self.held_back.unwritable:
            return None
        return self.held_back.unwritable.get(self.names.get(name, ""))

    def path(self, name: str) -> str:
        """A file of the partition, relative to the log dir."""
        return f"{self.partition.name}/{name}"

    def note(
        self,
        effect: str,
        name: str | None = None,
        *,
        offset: int | None = None,
        says: str | None = None,
        lost: Lost | None = None,
    ) -> None:
        """Remember an effect on a file of the partition (on the directory itself without `name`)."""
        gone = lost or Lost()
        self.effects.append(
            Effect(
                effect=effect,
                file=self.path(name) if name else self.partition.name,
                offset=offset,
                records_lost=gone.records,
                bytes_lost=gone.bytes,
                broker_says=says,
                first_timestamp=gone.first_timestamp,
                last_timestamp=gone.last_timestamp,
            )
        )

    def add(self, segment: Segment) -> None:
        """Add a segment in its place; one of the same base is replaced."""
        if not self.segments or self.segments[-1].base_offset < segment.base_offset:
            self.segments.append(segment)
            return
        bases = [each.base_offset for each in self.segments]
        at = bisect_right(bases, segment.base_offset)
        if at and bases[at - 1] == segment.base_offset:
            self.segments[at - 1] = segment
        else:
            self.segments.insert(at, segment)
