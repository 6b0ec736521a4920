"""What is in `_delta_log` of OUT, known again: the library does not tell when it lost something.

It takes an empty commit, or one that lost whole lines, for one that changed nothing; what was added would be
added again then, or left out. So OUT has a note of each commit that was seen, and, while one is made, of what
will be in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, Transaction
from deltalake.transaction import AddAction

from segmend.errors import SegmendError
from segmend.fleet.folder import source
from segmend.json_values import JsonObject, member, text
from segmend.logdir import disk
from segmend.logdir.files import FileEntry
from segmend.rescue import notes
from segmend.rescue.outlet import Folder
from segmend.surgery.writing.atomic import TEMPORARY

_OURS: Final = "segmend-"
"""So begin the names of our app transactions."""
_NOTE: Final = "_delta_log.json"
_LOG: Final = "_delta_log"
_COMMIT: Final = re.compile(r"\d{20}\.json")
_DATA: Final = re.compile(rf"-\d{{20}}(-[0-9a-f]{{16}})?-\d+\.parquet({re.escape(TEMPORARY)})?$")
_CHECKPOINT: Final = re.compile(r"\d{20}\.checkpoint\.parquet")
_INSTEAD: Final = "put it back from a copy, or give another --out"
_MOVE: Final = (
    "move this file to another place, and the same command adds again what it had, as far as the DIRs still "
    "have that"
)
_Told = tuple[str, str, int]


class Committed:
    """What runs before saw of `_delta_log`; raises `SegmendError` where that is not there any more."""

    def __init__(self, outlet: Folder) -> None:
        self._outlet, self._home = outlet, f"{outlet.path}/{_LOG}"
        note = f"{outlet.path}/{_NOTE}"
        self._noted = disk.path_type(note) is not None
        instead = f"move it to another place if nothing happened to {_LOG}, else give another --out"
        told = notes.held(note, instead) if self._noted else {}
        seen = member(told, "seen") if told.get("seen") else {}
        self._seen: Mapping[str, str] = {name: text(seen, name) for name in seen}
        self._coming = text(told, "coming") if told.get("coming") else None
        names = self._names()
        self._refuse_gone(names)
        newest = max(filter(_COMMIT.fullmatch, names), default=None)
        for name in names:
            self._look(name, name == newest)

    @contextmanager
    def adding(self, files: Iterable[AddAction], reached: Iterable[Transaction]) -> Iterator[None]:
        """In the block a commit is made that adds these; it is on the disk then."""
        added = (("add", each.path, 0) for each in files)
        self._write(_sum([*added, *(("txn", each.app_id, each.version) for each in reached)]))
        yield
        self._outlet.keep(f"{_LOG}/{name}" for name in self._names() if name not in self._seen)
        self._write(None)

    def left_over(self, table: DeltaTable) -> list[str]:
        """Files of ours in OUT that no version of the table ever had: of runs that failed or were killed.

        Each attempt of a task (see `Elsewhere`) gives other names, so they would fill the disk.
        """
        names = {name for name in disk.names(self._outlet.path) if _DATA.search(name)}
        names -= {*pa.table(table.get_add_actions(flatten=True))["path"].to_pylist()}
        return sorted(names - self._ever() if names else ())

    def _ever(self) -> set[str]:
        """All files that what is there of the log tells of, those that were taken out again, too."""
        actions = (
            each
            for name in self._names()
            for each in (
                map(json.loads, FileEntry.at(f"{self._home}/{name}").read().splitlines())
                if _COMMIT.fullmatch(name)
                else pq.read_table(source(f"{self._home}/{name}"), columns=["add", "remove"]).to_pylist()
            )
        )
        told = (each.get(what) for each in actions for what in ("add", "remove"))
        return {str(each["path"]) for each in told if each}

    def _write(self, coming: str | None) -> None:
        seen = {name: self._seen.get(name) or self._known_by(name) for name in self._names()}
        notes.put(self._outlet, _NOTE, {"seen": seen, "coming": coming})
        self._outlet.keep_names()
        self._seen = seen

    def _names(self) -> list[str]:
        """Of commits and checkpoints; a checkpoint in several parts is left to the library."""
        there = disk.names(self._home) if disk.path_type(self._home) == "dir" else ()
        return sorted(name for name in there if _COMMIT.fullmatch(name) or _CHECKPOINT.fullmatch(name))

    def _known_by(self, name: str) -> str:
        if _COMMIT.fullmatch(name):
            return sha256(FileEntry.at(f"{self._home}/{name}").read()).hexdigest()
        # Whoever writes the checkpoint of a version again tells the same in other bytes.
        return _sum(_told_by(pq.read_table(source(f"{self._home}/{name}")).to_pylist()))

    def _refuse_gone(self, names: Sequence[str]) -> None:
        """Where the last commits are gone with all that they told, the table is as it was before them."""
        lasting = max((name[:20] for name in names if _CHECKPOINT.fullmatch(name)), default="")
        commits = {name for name in names if _COMMIT.fullmatch(name)}
        newest = max(commits, default="")
        seen = (name for name in sorted(self._seen) if _COMMIT.fullmatch(name))
        gone = [name for name in seen if name not in commits and name[:20] > lasting]
        if newest[:20] < lasting:
            gone = [f"{lasting}.json"]  # The library adds nothing then.
        elif not gone or (newest and newest < gone[0]):
            return
        raise SegmendError(f"{self._home}/{gone[0]}: is gone, which the table had; {_INSTEAD}")

    def _look(self, name: str, last: bool) -> None:
        path = f"{self._home}/{name}"
        try:
            if name in self._seen:
                whole = self._known_by(name) == self._seen[name]
            else:
                whole = not _COMMIT.fullmatch(name) or self._is_whole(path)
        except (ValueError, pa.ArrowException):
            whole = False
        if not whole:
            what = "the last commit of the table is torn" if last else "is not as it was written"
            raise SegmendError(f"{path}: {what}; {_MOVE if last else _INSTEAD}")

    def _is_whole(self, path: str) -> bool:
        """Of a commit that no run has noted: it may be that which was on its way when one was stopped."""
        actions = [json.loads(line) for line in FileEntry.at(path).read().splitlines()]
        if not actions or not all(isinstance(each, dict) for each in actions):
            return False
        ours = [each for each in _told_by(actions) if "/" not in each[1] or each[1].startswith(_OURS)]
        # What others did to the table is not ours to judge; nor, without a note, what an earlier release did.
        return not ours or not self._noted or _sum(ours) == self._coming


def _told_by(actions: Iterable[JsonObject]) -> Iterator[_Told]:
    """The files that actions add, and the app transactions that they hold."""
    for each in actions:
        add, txn = each.get("add"), each.get("txn")
        if isinstance(add, dict) and add:
            yield "add", str(add.get("path")), 0
        if isinstance(txn, dict) and txn:
            yield "txn", str(txn.get("appId")), int(txn.get("version") or 0)


def _sum(told: Iterable[_Told]) -> str:
    return sha256(repr(sorted(told)).encode("utf-8", "backslashreplace")).hexdigest()


def refuse_lost_files(table: DeltaTable, home: str) -> None:
    """Raise `SegmendError` if a file that an export added is not there, or of another size."""
    actions = pa.table(table.get_add_actions(flatten=True)).select(["path", "size_bytes"])
    for path, size in zip(*(column.to_pylist() for column in actions.columns), strict=True):
        if "/" in path:
            continue
        file = f"{home}/{path}"
        there = disk.file_stat(file).size if disk.path_type(file) == "file" else None
        if there != size:
            what = "is gone" if there is None else f"has {there:,} bytes, not {size:,}"
            raise SegmendError(f"{file}: {what}, which the table has; {_INSTEAD}")
