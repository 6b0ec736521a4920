"""PartitionDir: one directory of a partition by the broker's own rules, lazily.

Its names are listed when first asked for any of them. What cannot be listed stays in the model as a value:
`unreadable`. Which files are segments follows `LogLoader`.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from segmend.formats import epoch_checkpoint, partition_metadata, producer_snapshot, quorum_state
from segmend.formats.damage import Damage
from segmend.formats.epoch_checkpoint import EpochCheckpoint
from segmend.formats.names import DirKind, DirName, file_prefix, parse_dir_name
from segmend.formats.partition_metadata import PartitionMetadata
from segmend.formats.quorum_state import QuorumState
from segmend.logdir.file_system import FOLDERS, EntryType, Unreadable, or_none
from segmend.logdir.files import FileEntry
from segmend.logdir.layout import Layout, layout
from segmend.logdir.loaded import LoadedFile, load
from segmend.logdir.log_segment import LogSegment

if TYPE_CHECKING:
    from segmend.logdir.log_dir import LogDir

# partition.metadata has 43 bytes; a broker looks at its first two lines only.
_PARTITION_METADATA_BYTES = 64 << 10
Key = tuple[str, int]
"""Topic and number of a partition."""
PARTITION_KINDS: frozenset[DirKind] = frozenset({"current", "future", "delete", "stray", "cluster-metadata"})


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
        self.key: Key = self.topic, self.partition

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
