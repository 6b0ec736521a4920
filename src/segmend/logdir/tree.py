"""LogDir and PartitionDir: one broker's disk by the broker's own rules, lazily.

Opening a log dir lists its names and nothing more (the first idea of KIP-263: no index is
opened and no length read until somebody asks). A partition lists its names when first asked
for any of them. What cannot be listed stays in the model as a value: `unreadable`.

Rules follow `LogManager.loadLogs` (which directories are partitions) and `LogLoader` (which
files are segments).
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from functools import cached_property

from segmend.formats import (
    clean_shutdown,
    epoch_checkpoint,
    meta_properties,
    offset_checkpoint,
    partition_metadata,
    producer_snapshot,
    quorum_state,
)
from segmend.formats.clean_shutdown import CleanShutdown
from segmend.formats.damage import Damage
from segmend.formats.epoch_checkpoint import EpochCheckpoint
from segmend.formats.java_properties import JavaProperties
from segmend.formats.meta_properties import MetaProperties
from segmend.formats.names import (
    BOOTSTRAP_CHECKPOINT,
    CLUSTER_METADATA,
    DirKind,
    DirName,
    file_prefix,
    is_found,
    parse_dir_name,
)
from segmend.formats.offset_checkpoint import (
    CLEANER_OFFSET,
    HIGH_WATERMARK,
    LOG_START_OFFSET,
    RECOVERY_POINT,
    OffsetCheckpoint,
)
from segmend.formats.partition_metadata import PartitionMetadata
from segmend.formats.quorum_state import QuorumState
from segmend.logdir import disk
from segmend.logdir.file_system import (
    FOLDERS,
    EntryType,
    Files,
    LockState,
    Space,
    Unreadable,
    or_none,
    unmakeable,
)
from segmend.logdir.files import FileEntry
from segmend.logdir.layout import Layout, layout
from segmend.logdir.loaded import LoadedFile, load
from segmend.logdir.log_segment import LogSegment

LOCK = ".lock"
LOG_DIR_FILES = frozenset(
    (meta_properties.FILE_NAME, clean_shutdown.FILE_NAME, BOOTSTRAP_CHECKPOINT, *offset_checkpoint.FILE_NAMES)
)
"""What only a log dir has at its top, whatever it is called."""
# A checkpoint is written beside and renamed.
_TMP = ".tmp"
# partition.metadata has 43 bytes; a broker looks at its first two lines only.
_PARTITION_METADATA_BYTES = 64 << 10
# meta.properties has 150 bytes; a broker would read all of it, and take many times its size of memory.
_META_PROPERTIES_BYTES = 1 << 20
_NOBODYS = MetaProperties(properties=JavaProperties())
PARTITION_KINDS: frozenset[DirKind] = frozenset({"current", "future", "delete", "stray", "cluster-metadata"})


def _lines_of(name: str, what: str) -> cached_property[dict[tuple[str, int], int]]:
    """A property of a log dir: what one of its offset checkpoints says."""

    def lines(log_dir: LogDir) -> dict[tuple[str, int], int]:
        return log_dir.checkpointed(name)

    lines.__doc__ = f"{what}, by (topic, partition), as the broker reads them (`OffsetCheckpointFile`)."
    return cached_property(lines)


class LogDir:
    """One entry of `log.dirs`. `path` is as the user gave it, in `files`; `entries` are its names.

    `unreadable` is why they could not be listed, where that was held for an answer too.
    """

    def __init__(
        self,
        path: str,
        entries: dict[str, EntryType],
        files: Files = disk,
        unreadable: Unreadable | None = None,
    ) -> None:
        self.path = path
        self.entries = entries
        self.files = files
        self.unreadable = unreadable
        self._checkpoints: dict[str, LoadedFile[OffsetCheckpoint]] = {}

    @classmethod
    def open(cls, path: str, files: Files = disk) -> LogDir:
        """List the directory; raises `Unreadable` if that is refused."""
        return cls(path, files.listing(path), files)

    @classmethod
    def attempt(cls, path: str, files: Files = disk) -> LogDir:
        """As `open`; what cannot be listed has no entries, and says why."""
        try:
            return cls.open(path, files)
        except Unreadable as error:
            return cls(path, {}, files, error)

    def through(self, files: Files, entries: dict[str, EntryType]) -> LogDir:
        """The same names in another view of the same file system."""
        return LogDir(self.path, entries, files, self.unreadable)

    @classmethod
    def narrow(cls, path: str, name: str, files: Files = disk) -> LogDir:
        """A log dir of which only one directory is looked at, of the thousands that it may have.

        Raises `Unreadable`.
        """
        type = None if "/" in name or name in ("", ".", "..") else files.path_type(f"{path}/{name}")
        return cls(path, {} if type is None else {name: type}, files)

    @property
    def name(self) -> str:
        return self.path.rstrip("/").rpartition("/")[2] or self.path

    @property
    def real_path(self) -> str:
        """The path with all links resolved, as a broker compares log dirs."""
        return self.files.real_path(self.path)

    @property
    def device(self) -> int:
        """Which device it is on; 0 if that cannot be told."""
        try:
            return self.files.file_stat(self.path).device
        except Unreadable:
            return 0

    @cached_property
    def _parsed(self) -> list[tuple[str, DirName]]:
        """Directories (links followed, as brokers do) by name, and what their name means."""
        dirs = (name for name, type in self.entries.items() if type in FOLDERS)
        return [(name, parse_dir_name(name)) for name in sorted(dirs) if is_found(name)]

    @property
    def not_found(self) -> list[str]:
        """Directories under names in which no broker finds them, sorted."""
        return sorted(name for name, type in self.entries.items() if type in FOLDERS and not is_found(name))

    @cached_property
    def partitions(self) -> list[PartitionDir]:
        """Every directory that a broker takes for a partition, of whatever kind, by topic and number."""
        parsed = ((name, p) for name, p in self._parsed if p.kind in PARTITION_KINDS)
        replicas = [PartitionDir(self, name, p) for name, p in parsed]
        return sorted(replicas, key=lambda p: (p.topic, p.partition, p.name))

    @cached_property
    def current(self) -> list[PartitionDir]:
        """Those that a broker serves."""
        return [partition for partition in self.partitions if partition.kind == "current"]

    @cached_property
    def foreign(self) -> list[str]:
        """Directories that are no partition; a broker refuses to start on any of them."""
        return [name for name, parsed in self._parsed if parsed.kind == "foreign"]

    @property
    def others(self) -> list[str]:
        """Names of everything that is not a directory, sorted."""
        return sorted(name for name, type in self.entries.items() if type not in FOLDERS)

    @property
    def foreign_files(self) -> list[str]:
        """Files that no broker makes, sorted."""
        ours = *LOG_DIR_FILES, LOCK, CLUSTER_METADATA
        return [name for name in self.others if name.removesuffix(_TMP) not in ours]

    @property
    def no_files(self) -> list[str]:
        """FIFOs, sockets and devices that are named like what a start opens here, or writes beside it."""
        return self._ours_of("other")

    @property
    def dangling(self) -> list[str]:
        """Links to nothing that are named like that."""
        return self._ours_of("link-broken")

    @property
    def lock_refusal(self) -> str | None:
        """Why no `.lock` can be made where a link to nothing has the name: it is followed."""
        return unmakeable(self.files, f"{self.path}/{LOCK}") if LOCK in self.dangling else None

    def _ours_of(self, type: EntryType) -> list[str]:
        names = (name for name, each in self.entries.items() if each == type)
        return sorted(name for name in names if name.removesuffix(_TMP) in (*LOG_DIR_FILES, LOCK))

    @property
    def is_metadata_apart(self) -> bool:
        """Whether it is a `metadata.log.dir` that is none of `log.dirs`, by all that is in it.

        No `LogManager` writes its checkpoints and marker there, nor is its directory id registered.
        """
        theirs = {clean_shutdown.FILE_NAME, *offset_checkpoint.FILE_NAMES}
        return theirs.isdisjoint(self.entries) and {each.kind for each in self.partitions} == {
            "cluster-metadata"
        }

    def partition(self, name: str) -> PartitionDir | None:
        return self._by_name.get(name)

    @cached_property
    def _by_name(self) -> dict[str, PartitionDir]:
        return {partition.name: partition for partition in self.partitions}

    @property
    def cluster_metadata(self) -> PartitionDir | None:
        """The metadata log of a KRaft node."""
        return self.partition(CLUSTER_METADATA) if CLUSTER_METADATA in self.entries else None

    @property
    def has_metadata_name(self) -> bool:
        """Whether anything is called like that log: all that brokers look at in a dir where none is to be."""
        return self.entries.get(CLUSTER_METADATA, "link-broken") != "link-broken"

    def entry(self, name: str) -> FileEntry | None:
        type = self.entries.get(name)
        if type is None or type in FOLDERS:
            return None
        return FileEntry(self.files, self.path, name, type)

    @cached_property
    def meta_properties(self) -> LoadedFile[MetaProperties]:
        """meta.properties: whose dir this is. A directory of that name is there, and cannot be read.

        A link to nothing is taken for no file, as each broker does.
        """
        type, name = self.entries.get(meta_properties.FILE_NAME), meta_properties.FILE_NAME
        entry = None if type is None else FileEntry(self.files, self.path, name, type)
        if entry is not None and entry.known_size > _META_PROPERTIES_BYTES:
            return LoadedFile(entry=entry, unreadable=Unreadable(entry.path, "file too large", errno.EFBIG))
        loaded = load(entry, meta_properties.parse)
        gone = loaded.unreadable is not None and loaded.unreadable.missing
        return LoadedFile() if gone else loaded

    @property
    def node_id(self) -> int | None:
        """Whose it is by its own meta.properties, None if none can be read; `BrokerDirs` weighs all dirs."""
        return (self.meta_properties.value or _NOBODYS).node_id

    @property
    def cluster(self) -> str | None:
        """The id of its cluster, None if none can be read."""
        return (self.meta_properties.value or _NOBODYS).cluster

    @property
    def directory_id(self) -> str | None:
        """Its own id (KIP-858), None if none can be read."""
        return (self.meta_properties.value or _NOBODYS).directory_id

    @property
    def bootstrap(self) -> FileEntry | None:
        """bootstrap.checkpoint; a link to nothing is none (`Files.exists`)."""
        return None if BOOTSTRAP_CHECKPOINT in self.dangling else self.entry(BOOTSTRAP_CHECKPOINT)

    @cached_property
    def clean_shutdown(self) -> LoadedFile[CleanShutdown]:
        """The content of the marker of a clean stop."""
        return load(self.entry(clean_shutdown.FILE_NAME) if self.is_clean else None, clean_shutdown.parse)

    @property
    def is_clean(self) -> bool:
        """Whether the marker is there, so that a start recovers nothing; what is in it does not count."""
        return self.entries.get(clean_shutdown.FILE_NAME, "link-broken") != "link-broken"

    def offset_checkpoint(self, name: str) -> LoadedFile[OffsetCheckpoint]:
        if name not in self._checkpoints:
            self._checkpoints[name] = load(self.entry(name), offset_checkpoint.parse)
        return self._checkpoints[name]

    recovery_points = _lines_of(RECOVERY_POINT, "Recovery points")
    high_watermarks = _lines_of(HIGH_WATERMARK, "High watermarks")
    log_start_offsets = _lines_of(LOG_START_OFFSET, "Log start offsets above the first segment's base")
    cleaner_offsets = _lines_of(CLEANER_OFFSET, "First dirty offsets of compacted partitions")

    def checkpointed(self, name: str) -> dict[tuple[str, int], int]:
        """What one of the four says by (topic, partition); nothing where it cannot be read."""
        value = self.offset_checkpoint(name).value
        return {} if value is None else value.offsets()

    def space(self) -> Space:
        """Free space of the file system under it; raises `Unreadable`."""
        return self.files.space(self.path)

    def broker_running(self) -> bool | None:
        """Whether a broker holds `.lock`; None if that cannot be told (no permission to read it)."""
        here = LOCK in self.entries
        state = self.files.lock_state(f"{self.path}/{LOCK}") if here else LockState(held=False)
        return None if state is None else state.held

    def __repr__(self) -> str:
        return f"LogDir({self.path!r})"


class PartitionDir:
    """One directory of a partition. Its names are listed when first asked for.

    `kind` is current, future, delete, stray or cluster-metadata; `partition` its number; `key` topic and
    number, as the checkpoints have them.
    """

    def __init__(self, log_dir: LogDir, name: str, parsed: DirName) -> None:
        self.log_dir = log_dir
        self.name = name
        self.parsed = parsed
        self.path = f"{log_dir.path}/{name}"
        self.kind: DirKind = parsed.kind
        self.topic = parsed.topic
        self.partition = parsed.partition
        self.key = self.topic, self.partition

    @classmethod
    def forced(cls, log_dir: LogDir, name: str) -> PartitionDir:
        """A directory taken for a partition whatever its name, so that a copied one can be looked at."""
        return cls(log_dir, name, parse_dir_name(name))

    def afresh(self) -> PartitionDir:
        """A model of its own of the same directory: what it remembers of the names goes with it."""
        return PartitionDir(self.log_dir, self.name, self.parsed)

    def expect(self, base_offsets: Iterable[int]) -> None:
        """Have these logs among its names, as they were before: who reads one that is gone hears of it."""
        if self.unreadable is None:
            listed: dict[str, EntryType] = {f"{file_prefix(base)}.log": "file" for base in base_offsets}
            self.entries = listed | self.entries

    @property
    def is_link(self) -> bool:
        """Whether the directory is a symbolic link, which brokers follow."""
        return self.log_dir.entries.get(self.name) == "link-dir"

    @cached_property
    def _listed(self) -> tuple[dict[str, EntryType], Unreadable | None]:
        try:
            return self.log_dir.files.listing(self.path), None
        except Unreadable as error:
            return {}, error

    @cached_property
    def entries(self) -> dict[str, EntryType]:
        """Names and what they are; empty if the directory cannot be listed (see `unreadable`)."""
        return self._listed[0]

    @property
    def unreadable(self) -> Unreadable | None:
        """Why the directory could not be listed, None if it could."""
        return self._listed[1]

    @cached_property
    def layout(self) -> Layout:
        return layout(self.entries)

    @cached_property
    def files(self) -> dict[str, FileEntry]:
        files, path, entries = self.log_dir.files, self.path, self.entries.items()
        return {n: FileEntry(files, path, n, type) for n, type in entries if type not in FOLDERS}

    def file(self, name: str) -> FileEntry | None:
        type = self.entries.get(name)
        if type is None or type in FOLDERS:
            return None
        return FileEntry(self.log_dir.files, self.path, name, type)

    def entry(self, name: str) -> FileEntry:
        return FileEntry(self.log_dir.files, self.path, name, self.entries[name])

    @cached_property
    def base_offsets(self) -> list[int]:
        """Base offsets of the segments, in the broker's loading order."""
        return self.layout.base_offsets

    @cached_property
    def segments(self) -> list[LogSegment]:
        return [LogSegment(self, base) for base in self.base_offsets]

    def _files(self, names: list[str]) -> list[FileEntry]:
        return [self.entry(name) for name in sorted(names)]

    @property
    def snapshots(self) -> list[tuple[int, FileEntry]]:
        """Producer snapshots and the offset in their name, ascending; unpadded ones included."""
        named = [*self.layout.snapshots.items()]
        named += [(base, name) for base, name in self.layout.unpadded if name.endswith(".snapshot")]
        return [(base, self.entry(name)) for base, name in sorted(named)]

    @cached_property
    def newest_snapshot(self) -> tuple[int, tuple[Damage, ...]]:
        """Of the newest producer snapshot, which a start reads: its highest producer id, -1 for none, and its
        damage. Raises `Unreadable`."""
        for _, entry in self.snapshots[-1:]:
            snapshot, damages = producer_snapshot.parse(entry.read(producer_snapshot.LIMIT))
            ids = (row.producer_id for row in (() if damages else snapshot.entries))
            return max(ids, default=-1), damages
        return -1, ()

    @property
    def kraft_snapshots(self) -> list[FileEntry]:
        """`<end offset>-<epoch>.checkpoint` files, in name order; brokers list links to nothing, too."""
        links = (name for name in self.layout.dangling if self.entries[name] == "link-broken")
        listed = [name for name in links if name.endswith(".checkpoint")]
        return self._files(self.layout.kraft_snapshots + listed)

    @property
    def shadowed(self) -> list[FileEntry]:
        """Unpadded logs, which a broker never reads although it takes their base offset."""
        return self._files([name for _, name in self.layout.shadowed])

    @property
    def orphans(self) -> list[FileEntry]:
        """Index files without their log, which a broker deletes."""
        return self._files(self.layout.orphans)

    @property
    def deleted(self) -> list[FileEntry]:
        """`.deleted` files: removed at the next start, until then a chance to salvage."""
        return self._files(self.layout.deleted)

    @property
    def swap(self) -> list[FileEntry]:
        """`.swap` files: output of a compaction that is to replace segments."""
        return self._files(self.layout.swap)

    @property
    def unparsable(self) -> list[FileEntry]:
        """Files whose name ends a broker with a NumberFormatException."""
        return self._files(self.layout.unparsable)

    @cached_property
    def leader_epochs(self) -> LoadedFile[EpochCheckpoint]:
        """leader-epoch-checkpoint (`LeaderEpochFileCache`), and its damage."""
        return load(self._text(epoch_checkpoint.FILE_NAME), epoch_checkpoint.parse)

    @cached_property
    def partition_metadata(self) -> LoadedFile[PartitionMetadata]:
        """partition.metadata: the topic id; a link to nothing is none (`File.exists`)."""
        name = partition_metadata.FILE_NAME
        file = None if self.entries.get(name) == "link-broken" else self._text(name)
        return load(file, partition_metadata.parse, _PARTITION_METADATA_BYTES)

    @property
    def topic_id(self) -> str | None:
        """The topic id; None where the file does not tell it as a broker wants it."""
        metadata = self.partition_metadata
        return None if metadata.value is None or metadata.damages else metadata.value.topic_id

    @cached_property
    def quorum_state(self) -> LoadedFile[QuorumState]:
        """quorum-state, only in `__cluster_metadata-0`."""
        return load(self._text(quorum_state.FILE_NAME), quorum_state.parse)

    def _text(self, name: str) -> FileEntry | None:
        """One that brokers read whole; a directory under its name is there to them, and cannot be read."""
        return self.entry(name) if name in self.entries else None

    @property
    def size(self) -> int:
        """Bytes of the logs of all segments, as brokers report a log's size; unreadable ones count 0."""
        return sum(
            or_none(self.log_dir.files.file_size, f"{self.path}/{name}") or 0
            for name in self.layout.logs.values()
        )

    def __repr__(self) -> str:
        return f"PartitionDir({self.path!r})"


def holds_partition(name: str, entries: dict[str, EntryType]) -> bool:
    """Whether a directory with these names in it is a partition and not a log dir.

    Log dirs are often called `kafka-1`, so the name decides only where the content says nothing.
    """
    if not LOG_DIR_FILES.isdisjoint(entries):
        return False
    files = layout(entries)
    if files.logs or files.index or files.known or files.snapshots or files.kraft_snapshots or files.shadowed:
        return True
    return not any(type in FOLDERS for type in entries.values()) and (
        parse_dir_name(name).kind in PARTITION_KINDS and "." not in name[:1]
    )
