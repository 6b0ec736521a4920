"""The directory that a rescue fills: nothing in it has its name before it is whole.

The journal `_rescue.jsonl` is the loss report as it grows: first what was asked for, then a line for each
partition that is done, last the summary. Whoever is killed goes on behind the last whole line.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from segmend.errors import PartitionError, SegmendError, UsageError, system_words
from segmend.fleet.misread import refuse_misread
from segmend.logdir import disk
from segmend.logdir.above import log_dir_around
from segmend.logdir.disk import FileReader
from segmend.logdir.files import FileEntry
from segmend.long_json import pieces
from segmend.rescue.lines import Asked, FilesWritten, Line, PartitionLine, SummaryLine
from segmend.rescue.long_names import while_written
from segmend.surgery.writing.atomic import TEMPORARY, part_of
from segmend.surgery.writing.copying import PIECE, shared
from segmend.surgery.writing.effects import Effects, sync_dir
from segmend.surgery.writing.work import Workplace
from segmend.threads import done_by
from segmend.wording import few, plural

JOURNAL: Final = "_rescue.jsonl"
_BUFFER: Final = 1 << 20
_HURRY: Final = 4 << 20
"""After so many bytes the disk is set to work, so that little is left for the sync at the end."""
_SYNCS: Final = 4
"""So many files are synced at a time: a disk that is asked by several flushes once for all of them."""
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)
_SHAPES: Final[Mapping[str, Mapping[str, type]]] = {
    "partition": {
        **dict.fromkeys(("missing", "diverged", "conflicts", "unreadable", "doubts"), list), "topic": str,
        **dict.fromkeys(("partition", "first_offset", "next_offset", "records", "aborted", "left_out"), int),
        **dict.fromkeys(("marked", "open", "unacknowledged", "bytes"), int), "form": dict,
    },
    "summary": dict.fromkeys(("partitions", "records", "bytes", "missing"), int),
}  # fmt: skip
"""Of a line of the journal, by its type, what the report is made of."""
_OBJECTS: Final = ("diverged", "conflicts")


class Stream:
    """A file that is being written, as pyarrow and others take one: only at its end."""

    def __init__(self, fx: Effects, fd: int, at: int = 0) -> None:
        self._fx, self._fd = fx, fd
        self._held = bytearray()
        self._at = at
        self.closed = False

    def write(self, data: bytes | memoryview) -> int:
        view = memoryview(data).cast("B")
        if len(self._held) + len(view) < _BUFFER:
            self._held += view
        else:
            self.flush()
            self._put(view)
        return len(view)

    def write_file(self, work: Workplace, source: FileEntry) -> None:
        """Add all of another file, on a disk read back and compared; raises `SegmendError`."""
        if source.files is not disk:
            self.write_part(work, source, 0, source.size)
            return
        self.flush()
        part_of(source.path, work, 0, source.size, self._at, holes=False)(self._fd)
        self._at += source.size

    def write_part(self, work: Workplace, source: FileEntry, start: int, length: int) -> None:
        """Add batches of another file; who calls this reads every checksum of them afterwards.

        Blocks are shared where the disk can do that. Raises `SegmendError`.
        """
        self.flush()
        end = start + length
        with source.reader() as reader:
            if isinstance(reader, FileReader) and shared(
                work, reader, self._fd, (start, end), self._at - start
            ):
                self._at += length
                return
            buffer = memoryview(bytearray(PIECE))
            for at in range(start, end, PIECE):
                data = buffer[: min(PIECE, end - at)]
                if reader.read_into(data, at) < len(data):
                    raise PartitionError(f"{source.path}: became shorter while it was read")
                self._put(data)
                work.tell(len(data))

    def flush(self) -> None:
        """Hand on what is held."""
        held, self._held = self._held, bytearray()
        if held:
            self._put(memoryview(held))

    def _put(self, data: memoryview) -> None:
        self._fx.write(self._fd, data, self._at)
        self._at += len(data)
        if self._at // _HURRY > (self._at - len(data)) // _HURRY:
            self._fx.hurry(self._fd, max(self._at - _HURRY, 0), _HURRY)

    def sync(self) -> None:
        """Have all bytes so far on the disk."""
        self.flush()
        self._fx.sync(self._fd)

    def tell(self) -> int:
        return self._at + len(self._held)

    def set_mtime(self, mtime_ns: int) -> None:
        """The modification time, after the last byte."""
        self.flush()
        self._fx.set_mtime(self._fd, mtime_ns)

    def close(self) -> None:
        """Who opened it closes it."""


class Folder:
    """OUT as the writer of one partition sees it. `tell` hears of the source's bytes that are behind."""

    def __init__(self, path: str, fx: Effects) -> None:
        self.path = path
        self.tell: Callable[[int], None] = lambda _: None
        self._fx = fx
        self._laid: list[str] = []
        self._sizes: dict[str, int] = {}

    @property
    def work(self) -> Workplace:
        """For copies."""
        return Workplace(fx=self._fx, vault=self.path, tell=lambda count: self.tell(count))

    @contextmanager
    def file(self, name: str, keep: int = 0) -> Iterator[Stream]:
        """A new file of OUT (`name` is relative to it), whole and synced when the block ends well.

        So many first bytes are kept of one that was begun.
        """
        path = f"{self.path}/{name}"
        temporary = while_written(path)
        fd = self._fx.open(temporary) if keep else self._fx.create(temporary, 0o644)
        try:
            if keep:
                self._fx.truncate(fd, keep)
            stream = Stream(self._fx, fd, keep)
            yield stream
            stream.flush()
            self._fx.sync(fd)
        finally:
            self._fx.close(fd)
        self._fx.rename(temporary, path)
        self.has(name, stream.tell())

    def begun(self, name: str) -> int:
        """How many bytes there are of a file that was begun."""
        path = while_written(f"{self.path}/{name}")
        return disk.file_stat(path).size if disk.path_type(path) == "file" else 0

    def has(self, name: str, size: int) -> None:
        """A file is there, of so many bytes."""
        self._sizes[name] = size

    def _beside(self) -> list[str]:
        """What was written that no partition has told of, by its names in OUT."""
        return sorted({name.partition("/")[0].removesuffix(TEMPORARY) for name in self._sizes})

    def wrote(self, name: str) -> FilesWritten:
        """A file, or the files of a `folder`, by what was written: somebody may take them meanwhile."""
        folder = while_written(f"{self.path}/{name}").rpartition("/")[2] + "/"
        mine = [each for each in self._sizes if each == name or each.startswith(folder)]
        return {"name": name, "files": len(mine), "bytes": sum(map(self._sizes.pop, mine))}

    def held(self, name: str) -> FilesWritten:
        """What there is of it now, none of it opened."""
        path = f"{self.path}/{name}"
        kind = disk.path_type(path)
        inside = [f"{path}/{each}" for each in disk.names(path)] if kind == "dir" else [path] * bool(kind)
        return {"name": name, "files": len(inside), "bytes": sum(map(disk.file_size, inside))}

    def require(self, was: FilesWritten) -> None:
        """Raise `SegmendError` where there is not as much of it as there was."""
        if (now := self.held(was["name"])) == was:
            return
        words = [f"{plural(each['files'], 'file')} of {each['bytes']:,} bytes" for each in (now, was)]
        raise SegmendError(
            f"{self.path}/{was['name']}: {words[0]} where this rescue had written {words[1]}; put it back "
            "from a copy, or give a new directory"
        )

    def drop(self, name: str) -> None:
        """Take away a file that has served its purpose."""
        if disk.path_type(f"{self.path}/{name}") is not None:
            self._fx.remove(f"{self.path}/{name}")

    def put(self, name: str, data: bytes | memoryview) -> None:
        """A note for whoever goes on, which he may write anew: nothing tells how large it is."""
        with self.file(name) as stream:
            stream.write(data)
        del self._sizes[name]

    def lay(self, name: str, data: bytes) -> None:
        """As `put`, but only `settle` brings it to the disk: a run that goes on writes it once more."""
        path = f"{self.path}/{name}"
        fd = self._fx.create(path + TEMPORARY, 0o644)
        try:
            self._fx.write(fd, data, 0)
        finally:
            self._fx.close(fd)
        self._fx.rename(path + TEMPORARY, path)
        self._laid.append(path)
        self.has(name, len(data))

    def settle(self) -> None:
        """Bring to the disk what was laid."""
        laid, self._laid = self._laid, []
        done_by(_SYNCS, self._settle_one, laid)

    def _settle_one(self, path: str) -> None:
        fd = self._fx.open_to_sync(path)
        try:
            self._fx.sync(fd)
        finally:
            self._fx.close(fd)

    def keep(self, names: Iterable[str]) -> None:
        """Bring to the disk files that something else has written into one folder of it."""
        paths = [f"{self.path}/{name}" for name in names]
        done_by(_SYNCS, self._settle_one, paths)
        for folder in {os.path.dirname(path) for path in paths}:
            sync_dir(self._fx, folder)

    def keep_names(self) -> None:
        """Bring the names in it to the disk."""
        sync_dir(self._fx, self.path)

    @contextmanager
    def folder(self, name: str, keep: Container[str] = ()) -> Iterator[str]:
        """A new directory of OUT; in the block it has another name, which is given relative to OUT.

        Of one that was begun, or had its name but no line in the journal yet, the files that are called as in
        `keep` are left: they are whole, but may be of sources that changed since.
        """
        path = f"{self.path}/{name}"
        temporary = while_written(path)
        if disk.path_type(path) is not None:
            self._clear(temporary)
            self._fx.rename(path, temporary)
        if disk.path_type(temporary) is None:
            self._fx.make_dir(temporary, 0o755)
        for each in disk.names(temporary):
            if each not in keep:
                self._fx.remove(f"{temporary}/{each}")
        try:
            yield temporary.rpartition("/")[2]
        except PartitionError:
            # No broker starts on a log dir with a directory of such a name.
            self._laid.clear()
            self._clear(temporary)
            raise
        self.settle()
        sync_dir(self._fx, temporary)
        self._fx.rename(temporary, path)

    def _clear(self, folder: str) -> None:
        if disk.path_type(folder) is None:
            return
        for name in disk.names(folder):
            self._fx.remove(f"{folder}/{name}")
        self._fx.remove_dir(folder)


class Outlet(Folder):
    """OUT with its journal, opened by `open_outlet`; `done` are the lines of it but the first."""

    def __init__(self, path: str, fx: Effects, journal: int, size: int, done: list[Line]) -> None:
        super().__init__(path, fx)
        self.done = done
        self._journal, self._size = journal, size

    @property
    def partitions(self) -> list[PartitionLine]:
        """Those of partitions."""
        return [line for line in self.done if line["type"] == "partition"]

    @property
    def summary(self) -> SummaryLine | None:
        """The last line of a rescue that is over."""
        return next((line for line in self.done[-1:] if line["type"] == "summary"), None)

    def refuse_changed(self) -> None:
        """What the journal tells of is not written again, so it is there still, or `SegmendError` says no."""
        told = [line["form"]["held"] for line in self.partitions if "held" in line["form"]]
        for was in [*told, *(self.summary or {}).get("held", ())]:
            self.require(was)

    def record(self, line: Line) -> None:
        """A partition is done, and on the disk; or all are."""
        if line["type"] == "summary":
            line = {**line, "held": [self.wrote(name) for name in self._beside()]}
        self.settle()
        sync_dir(self._fx, self.path)
        data = _encoded(line)
        self._fx.write(self._journal, data, self._size)
        self._fx.sync(self._journal)
        self._size += len(data)
        self.done.append(line)


@contextmanager
def open_outlet(path: str, asked: Asked, fx: Effects) -> Iterator[Outlet]:
    """OUT for the rescue `asked` for, new or as far as it came.

    Raises `UsageError` if something else is in there, and `SegmendError` for what the system refuses.
    """
    with in_words(path):
        _prepare(path, asked, fx)
        fd = fx.open(f"{path}/{JOURNAL}")
        try:
            yield _resumed(path, fd, asked, fx)
        finally:
            fx.close(fd)


@contextmanager
def in_words(path: str) -> Iterator[None]:
    """What the system refuses while OUT is written becomes a `SegmendError`."""
    try:
        yield
    except OSError as error:
        raise _refused(path, error) from None


def _refused(path: str, error: OSError) -> SegmendError:
    if error.errno in _FULL:
        return SegmendError(
            f"{path}: {system_words(error)}; make room and give the same command again, which goes on"
        )
    return SegmendError(f"{error.filename or path}: {system_words(error)}")


def _prepare(path: str, asked: Asked, fx: Effects) -> None:
    """Have the directory, with a journal in it."""
    kind = disk.path_type(path)
    if kind is not None and kind != "dir":
        raise UsageError(f"{path}: not a directory")
    if kind is None:
        fx.make_dir(path, 0o755)
        sync_dir(fx, os.path.dirname(disk.real_path(path)))
    if disk.path_type(f"{path}/{JOURNAL}") is None:
        if set(disk.names(path)) - {JOURNAL + TEMPORARY}:
            raise UsageError(f"{path}: is not empty, and no rescue began there; give a new directory")
        Folder(path, fx).put(JOURNAL, _encoded(asked))
        sync_dir(fx, path)


def _encoded(line: Line | Asked) -> memoryview:
    data = bytearray()
    for piece in pieces(line):
        data += piece.encode()
    data += b"\n"
    return memoryview(data)


def _otherwise(lines: Sequence[Asked], asked: Asked) -> str:
    """By what the rescue that began there is another one, in words: a time of `-24h` is counted from now."""
    began = lines[0] if lines else {}
    unlike = [name for name, value in json.loads(json.dumps(asked)).items() if began.get(name) != value]
    told = few([f"{name} {json.dumps(began[name])}" for name in unlike if name in began])
    ago = any(name in began for name in unlike if name in ("since", "until"))
    more = " (ms; a time like -24h is another one each time, so give that one)" if ago else ""
    return f" (see {JOURNAL}), with {told}{more}" if told else f" (see {JOURNAL})"


def _resumed(path: str, fd: int, asked: Asked, fx: Effects) -> Outlet:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise SegmendError(f"{path}: another rescue is at work there") from None
    with FileReader.of_descriptor(fd, f"{path}/{JOURNAL}") as reader:
        data = reader.read(reader.size)
    whole = data.rfind(b"\n") + 1
    try:
        lines = [json.loads(line) for line in data[:whole].splitlines()]
    except ValueError:
        raise SegmendError(f"{path}/{JOURNAL}: is damaged; give a new directory") from None
    if not all(map(_is_told, lines[1:])):
        raise SegmendError(f"{path}/{JOURNAL}: is not as this release writes it; give a new directory")
    if not lines or lines[0] != json.loads(json.dumps(asked)):
        raise UsageError(
            f"{path}: holds another rescue{_otherwise(lines, asked)}; give the same command or a new "
            "directory"
        )
    if whole < len(data):
        fx.truncate(fd, whole)
    return Outlet(path, fx, fd, whole, lines[1:])


def _is_told(line: object) -> bool:
    """Whether it has what a report is made of."""
    if not isinstance(line, dict) or line.get("type") not in _SHAPES:
        return False
    shape = _SHAPES[line["type"]]
    known = all(isinstance(line.get(name), kind) for name, kind in shape.items())
    return known and all(isinstance(each, dict) for name in _OBJECTS for each in line.get(name, ()))


def refuse_place(out: str, form: str, sources: Iterable[str]) -> None:
    """Raise `UsageError` if OUT lies in a source, a source in it, or where no directory or table can be."""
    if "://" in out:
        raise UsageError(f"{out}: records go to directories only, not to object stores; give a mounted one")
    if form == "delta":
        refuse_misread(out)
    mine = disk.real_path(out).rstrip("/") + "/"
    for source in sources:
        theirs = disk.real_path(source).rstrip("/") + "/"
        if mine.startswith(theirs) or theirs.startswith(mine):
            raise UsageError(f"{out}: is in {source}, or around it; a rescue never writes into its source")
    # OUT itself may be a log dir that a rescue has begun.
    around = log_dir_around(os.path.dirname(disk.real_path(out)))
    if around is not None:
        raise UsageError(f"{out}: is in the log dir {around}, where no broker would start; choose another")
