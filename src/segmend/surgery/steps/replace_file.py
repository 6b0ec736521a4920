"""A small file with new bytes: written beside, renamed into place; or a new file where there was none."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from typing import ClassVar, Final, Self

from segmend.errors import SegmendError
from segmend.formats.names import file_prefix
from segmend.frozen import field, frozen, replace
from segmend.json_values import JsonObject
from segmend.logdir import disk
from segmend.logdir.file_system import Files, Unreadable
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release
from segmend.surgery import recipes
from segmend.surgery.fingerprint import MISSING, Fingerprint, changed, hash_bytes, look
from segmend.surgery.new_bytes import NewBytes
from segmend.surgery.recipes import Rebuild
from segmend.surgery.step import Need, OnePath, View
from segmend.surgery.typed_json import fields_to_json
from segmend.surgery.writing.atomic import (
    bytes_of,
    clear,
    hold_link,
    keep,
    part_of,
    read_kept,
    require,
    restore_link,
    unkept,
    write_atomically,
)
from segmend.surgery.writing.work import Workplace, folder

KEPT: Final = "before"
"""The old file, in the vault."""
_OF_RECIPES: Final = ("arguments", "partition")


@frozen
class ReplaceFile(OnePath):
    """The bytes come from `content`, or from a `recipe` run with `arguments` when the plan is applied.

    A recipe is given the log dir `log_dir` (real path) and the name of a `partition` directory in it
    ("" for files of the log dir itself); what it gives must have the hash of `after`. Where it gave
    `content` out of one log, `made_of` is what that log then was (`disk.identity`): the recipe
    is run again only if it is another one by now.
    """

    KIND: ClassVar[str] = "replace_file"
    AT_ONCE: ClassVar[bool] = True

    after: Fingerprint
    content: NewBytes | None = None
    recipe: str | None = None
    arguments: JsonObject = field(default_factory=dict)
    log_dir: str | None = None
    partition: str = ""
    made_of: str | None = None

    def __post_init__(self) -> None:
        if self.before.kind == "file" and self.before.sha256 is None:
            raise ValueError("an old file without a hash, which an undo needs")
        self.after.must_be("file")
        content = self.content
        if content is not None and (content.length, content.sha256) != (self.after.size, self.after.sha256):
            raise ValueError("content that is not what comes out")

    @classmethod
    def with_bytes(cls, path: str, data: bytes, reason: str, *, like: Fingerprint | None = None) -> Self:
        """The step for these bytes, kept in the plan; see `_after` for owner, mode and time."""
        before = look(path)
        after = _after(path, before, data, like)
        return cls(path=path, before=before, after=after, reason=reason, content=NewBytes.inline(data))

    @classmethod
    def new(cls, path: str, data: bytes, like: Fingerprint, reason: str) -> Self:
        """A file with these bytes where by then there is none."""
        content = NewBytes.inline(data)
        after = like.but(size=len(data), sha256=content.sha256)
        return cls(path=path, before=MISSING, after=after, reason=reason, content=content)

    @classmethod
    def with_recipe(cls, made: Rebuild, reason: str, release: Release) -> Self:
        """The step for what the recipe gives now; raises what the recipe raises."""
        data, before = made.build(release), look(made.path)
        return cls(
            path=made.path, before=before, after=_after(made.path, before, data, None), reason=reason,
            recipe=made.recipe, arguments=made.arguments, log_dir=made.log_dir.path, partition=made.partition,
        )  # fmt: skip

    def with_content(self, release: Release) -> Self:
        """The same with the bytes that the recipe gives, if they come out of one log that is on a disk."""
        if self.recipe is None or self.content is not None or not recipes.reads_one_log(self.recipe):
            return self
        made_of = self._source()
        if made_of is None:
            return self
        data = self._cook(release, disk)
        if made_of != self._source() or hash_bytes(data) != self.after.sha256:
            return self
        return replace(self, content=NewBytes.inline(data), made_of=made_of)

    def to_json(self) -> dict[str, object]:
        """All fields; without a recipe what it is given is left out."""
        data = fields_to_json(self)
        return data if self.recipe else {name: data[name] for name in data if name not in _OF_RECIPES}

    def words(self) -> str:
        how = "make" if self.before.kind == "missing" else "rewrite"
        return f"{how} {self.path}, {self.after.size} bytes: {self.reason}"

    def needs(self, vault: str) -> Iterator[Need]:
        """The backup, and the new file while the old one is still there."""
        yield Need(vault, self.before.size or 0)
        yield Need(folder(self.path), self.after.size or 0)

    def not_before(self) -> str | None:
        other = None if self.content is None else self.content.changed()
        return changed(self.before, self.path) or other

    def not_after(self) -> str | None:
        return changed(self.after, self.path)

    def not_ours(self) -> str | None:
        now = look(self.path)
        why = self.before.difference(now)
        return None if now.kind == "missing" or self.after.difference(now) is None else why

    def protect(self, work: Workplace) -> None:
        if self.before.sha256 is not None and self.not_after() is not None:
            keep(work, KEPT, part_of(self.path, work), self.before.sha256)

    def unkept(self, vault: str) -> str | None:
        why = None if self.before.sha256 is None else unkept(vault, KEPT, self.before.sha256)
        return why if why and self.before.difference(look(self.path)) else None

    def do(self, work: Workplace) -> None:
        clear(work.fx, self.path)
        if self.not_after() is None:
            work.sync_names(folder(self.path))
            return
        self._must_be_ours()
        data = self._data(work.release, disk)
        hold_link(work, self.path)
        write_atomically(work, self.path, bytes_of(data, work), self.after)
        require(self.not_after(), self.path)

    def undo(self, work: Workplace) -> None:
        """Brings the old file back, or removes the new one."""
        clear(work.fx, self.path)
        self._must_be_ours()
        if self.before.difference(look(self.path)) is None:
            pass
        elif self.before.sha256 is None:
            work.fx.remove(self.path)
        else:
            kept = read_kept(work, KEPT, self.before.sha256)
            write_atomically(work, self.path, part_of(kept, work), self.before)
        work.sync_names(folder(self.path))
        require(self.before.difference(look(self.path)), self.path)
        if self.before.kind == "file":
            restore_link(work, self.path)

    def preview(self, view: View, release: Release) -> None:
        """The new file in the view; a recipe sees the view's log dir."""
        view.replace(self.path, self._data(release, view), self.after)

    def _must_be_ours(self) -> None:
        if (why := self.not_ours()) is not None:
            raise SegmendError(f"{self.path}: somebody changed it in between ({why})")

    def _data(self, release: Release, files: Files) -> bytes:
        made = self.recipe is None or (self.made_of is not None and self.made_of == self._source())
        data = self.content.read() if self.content is not None and made else self._cook(release, files)
        if (len(data), hash_bytes(data)) != (self.after.size, self.after.sha256):
            raise SegmendError(f"{self.path}: '{self.recipe}' gives other bytes than it did for the plan")
        return data

    def _source(self) -> str | None:
        """What the log is now that the recipe reads, if it reads one; None where none is there."""
        base = self.arguments.get("base_offset")
        if self.log_dir is None or not isinstance(base, int):
            return None
        try:
            return disk.identity(f"{self.log_dir}/{self.partition}/{file_prefix(base)}.log")
        except Unreadable:
            return None

    def _cook(self, release: Release, files: Files) -> bytes:
        if self.recipe is None or self.log_dir is None:
            raise SegmendError(f"{self.path}: the plan says neither content nor recipe")
        log_dir = LogDir.narrow(self.log_dir, self.partition, files)
        return recipes.build(self.recipe, log_dir, self.partition, self.arguments, release)


def refuse_other_kind(path: str, before: Fingerprint) -> None:
    """Raise `SegmendError` where something else than a file lies in its place."""
    if before.kind not in ("file", "missing"):
        raise SegmendError(f"{path}: is no plain file; move it out of the way first")


def _after(path: str, before: Fingerprint, data: bytes, like: Fingerprint | None) -> Fingerprint:
    """The new file keeps owner, mode, attributes and time of the old one.

    A new one takes those of `like`, or the owner of its directory and the mode of the log beside it.
    """
    refuse_other_kind(path, before)
    size, sha256 = len(data), hash_bytes(data)
    if before.kind == "file":
        return before.but(size=size, sha256=sha256)
    home = look(folder(path), content=False)
    model = like or Fingerprint(kind="file", mode=_mode_beside(path), uid=home.uid, gid=home.gid)
    return Fingerprint(
        kind="file", size=size, mode=model.mode, uid=model.uid, gid=model.gid, mtime_ns=model.mtime_ns,
        sha256=sha256,
    )  # fmt: skip


def _mode_beside(path: str) -> int:
    """Of the segment's log, or of the first log there is: what a broker's umask makes of a new file."""
    home, own = folder(path), path.rpartition("/")[2].partition(".")[0] + ".log"
    names = sorted(name for name in disk.names(home) if name.endswith(".log"))
    logs = [own] if own in names else names[:1]
    return stat.S_IMODE(disk.file_stat(f"{home}/{logs[0]}").mode) if logs else 0o644


STEP = ReplaceFile
