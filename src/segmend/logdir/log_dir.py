"""LogDir: one broker's disk by the broker's own rules, lazily.

Opening a log dir lists its names and nothing more (the first idea of KIP-263: no index is
opened and no length read until somebody asks). Which directories are partitions follows
`LogManager.loadLogs`.
"""

from __future__ import annotations

import errno
from functools import cached_property

from segmend.formats import clean_shutdown, meta_properties, offset_checkpoint
from segmend.formats.clean_shutdown import CleanShutdown
from segmend.formats.java_properties import JavaProperties
from segmend.formats.meta_properties import MetaProperties
from segmend.formats.names import BOOTSTRAP_CHECKPOINT, CLUSTER_METADATA, DirName, is_found, parse_dir_name
from segmend.formats.offset_checkpoint import (
    CLEANER_OFFSET,
    HIGH_WATERMARK,
    LOG_START_OFFSET,
    RECOVERY_POINT,
    OffsetCheckpoint,
)
from segmend.logdir import disk
from segmend.logdir.file_system import FOLDERS, EntryType, Files, LockState, Space, Unreadable, unmakeable
from segmend.logdir.files import FileEntry
from segmend.logdir.layout import layout
from segmend.logdir.loaded import LoadedFile, load
from segmend.logdir.partition_dir import PARTITION_KINDS, PartitionDir

LOCK = ".lock"
LOG_DIR_FILES = frozenset(
    (meta_properties.FILE_NAME, clean_shutdown.FILE_NAME, BOOTSTRAP_CHECKPOINT, *offset_checkpoint.FILE_NAMES)
)
"""What only a log dir has at its top, whatever it is called."""
# A checkpoint is written beside and renamed.
_TMP = ".tmp"
# meta.properties has 150 bytes; a broker would read all of it, and take many times its size of memory.
_META_PROPERTIES_BYTES = 1 << 20
_NOBODYS = MetaProperties(properties=JavaProperties())


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
