"""The steps that make the logs of a replica those of the merge.

Of a segment whose own batches all stay where they are only what is between them, and behind them, is
written. Where they come to lie elsewhere the log is written beside, from its own bytes and those of the
others, before it takes the place of the old one; no broker reads a file of that name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from segmend.errors import SegmendError
from segmend.formats.names import file_prefix
from segmend.frozen import frozen
from segmend.logdir import disk
from segmend.merge.cut import recut
from segmend.merge.pieces import Piece
from segmend.surgery.fingerprint import MISSING, Fingerprint, look
from segmend.surgery.new_bytes import NewBytes
from segmend.surgery.ops.merge.case import Case
from segmend.surgery.ops.merge.layout import NewLog
from segmend.surgery.replicas.new_files import model_of
from segmend.surgery.step import Step
from segmend.surgery.steps.append_file import AppendFile
from segmend.surgery.steps.cut_file import CutFile
from segmend.surgery.steps.move_dir import MoveDir
from segmend.surgery.steps.patch_file import PatchFile
from segmend.surgery.steps.quarantine import Quarantine

BESIDE: Final = ".merged"
"""Behind the name of a log that is written beside."""
_WHY: Final = "one history of all replicas"
_MOST_CUT: Final = 16 << 20
"""Bytes of batches written anew that a plan carries."""


class LogPart(NamedTuple):
    """Bytes of a log that will be, from its byte `at` on: own ones that stay there, or `content`.

    They are those of offsets `first` to `last`.
    """

    first: int
    last: int
    at: int
    length: int
    content: NewBytes | None
    mtime_ns: int


@frozen
class Change:
    """A segment that is made, changes, or goes; `at` is the first offset that is not as it was."""

    base: int
    at: int
    steps: tuple[Step, ...]
    stays: bool = True


def changes(case: Case, logs: Sequence[NewLog]) -> list[Change]:
    """The segments that go, then those that change; raises `Unreadable`, `SegmendError`."""
    layout, kept = case.target.layout, {log.base for log in logs}
    groups = (layout.logs, layout.index, layout.timeindex, layout.txnindex)
    gone = sorted({base for group in groups for base in group} - kept)
    vanishing = [
        Change(base=base, at=base, steps=tuple(_aside(case, base, groups)), stays=False) for base in gone
    ]
    return [*vanishing, *(each for log in logs if (each := _change(case, log)) is not None)]


def _aside(case: Case, base: int, groups: Sequence[Mapping[int, str]]) -> Iterator[Step]:
    for group in groups:
        if base in group:
            yield Quarantine.of(f"{case.target.path}/{group[base]}", "nothing of it is in the merged log")


def _change(case: Case, log: NewLog) -> Change | None:
    name = case.target.layout.logs.get(log.base)
    path = f"{case.target.path}/{name or file_prefix(log.base) + '.log'}"
    size = 0 if name is None else disk.file_size(path)
    parts = list(_parts(case, log, path))
    end = sum(part.length for part in parts)
    if name is not None and size == end and all(_stays(part) for part in parts):
        return None
    own = [part.at + part.length for part in parts if _stays(part)]
    moved = any(part.content is not None and part.content.source == path for part in parts)
    if moved:
        steps = [*_beside(path, parts, case)]
    elif name is None or (size and not own):
        aside = [] if name is None else [Quarantine.of(path, _WHY)]
        steps = [*aside, *_written(path, parts, MISSING, _model(case))]
    else:
        steps = [*_in_place(path, parts, size, max(own, default=0))]
    return Change(base=log.base, at=_first_change(log, parts), steps=tuple(steps))


def _stays(part: LogPart) -> bool:
    return part.content is None


def _parts(case: Case, log: NewLog, path: str) -> Iterator[LogPart]:
    """What the log is made of; pieces that lie one behind the other in one file are one part."""
    at, inline = 0, 0
    for piece in joined(log.pieces):
        span = piece.first, piece.last
        if piece.replica is case.own and not piece.cut and (piece.log.path, piece.start) == (path, at):
            yield LogPart(*span, at, piece.size, None, 0)
            at += piece.size
            continue
        content = _content(piece)
        inline += content.length if content.source is None else 0
        if inline > _MOST_CUT:
            raise SegmendError(
                f"{path}: more than {_MOST_CUT >> 20} MiB of compacted batches would be written anew; merge "
                "into a new log: segmend rescue --as log-dir"
            )
        if content.length:
            yield LogPart(*span, at, content.length, content, piece.log.stat().mtime_ns)
            at += content.length


def joined(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Whole ones that lie one behind the other in a log are one."""
    held: Piece | None = None
    for piece in pieces:
        if held is not None and _goes_on(held, piece):
            held = held.with_next(piece)
            continue
        if held is not None:
            yield held
        held = piece
    if held is not None:
        yield held


def _goes_on(held: Piece, piece: Piece) -> bool:
    return (held.log.path, held.stop) == (piece.log.path, piece.start) and not (held.cut or piece.cut)


def _content(piece: Piece) -> NewBytes:
    if piece.cut:
        return NewBytes.inline(recut(piece))
    return NewBytes.range_of(piece.log.path, piece.start, piece.size)


def _first_change(log: NewLog, parts: Sequence[LogPart]) -> int:
    """The offset behind the last batch before the first byte that changes."""
    first = log.base
    for part in parts:
        if part.content is not None:
            return part.first
        first = part.last + 1
    return first


def _in_place(path: str, parts: Sequence[LogPart], size: int, kept: int) -> Iterator[Step]:
    """Between what stays, and behind it."""
    for part in parts:
        if part.content is not None and part.at < kept:
            yield PatchFile.at(path, part.at, part.content, _from(part.content))
    before = look(path, content=False)
    if size > kept:
        yield CutFile.to(path, kept, "what follows is not in the merged log")
        before = before.but(size=kept)
    yield from _written(path, [part for part in parts if part.at >= kept], before, before)


def _written(path: str, parts: Sequence[LogPart], before: Fingerprint, model: Fingerprint) -> Iterator[Step]:
    """Parts one behind the other, the first of them behind what is there by then."""
    if not parts and before.kind == "missing":
        content = NewBytes.inline(b"")
        yield AppendFile(
            path=path, before=before, after=model.but(size=0), content=content, reason="the log ends here"
        )
    for part in parts:
        assert part.content is not None, "what stays is not written"
        after = model.but(size=(before.size or 0) + part.length, mtime_ns=part.mtime_ns, sha256=None)
        yield AppendFile(
            path=path, before=before, after=after, content=part.content, reason=_from(part.content)
        )
        before = after


def _beside(path: str, parts: Sequence[LogPart], case: Case) -> Iterator[Step]:
    new = path + BESIDE
    whole = [
        part
        if part.content is not None
        else part._replace(
            content=NewBytes.range_of(path, part.at, part.length), mtime_ns=disk.file_stat(path).mtime_ns
        )
        for part in parts
    ]
    written = [*_written(new, whole, MISSING, _model(case))]
    yield from written
    yield Quarantine.of(path, _WHY)
    last = written[-1]
    assert isinstance(last, AppendFile)
    yield MoveDir(
        source=new, target=path, before=last.after, allocated=last.after.size or 0, reason="in its place"
    )


def _model(case: Case) -> Fingerprint:
    """Owner, mode and label of a new log: those of another one of this replica."""
    for name in case.target.layout.logs.values():
        return look(f"{case.target.path}/{name}", content=False)
    return model_of(case.target.log_dir, case.target).but(xattrs=())


def _from(content: NewBytes) -> str:
    return _WHY if content.source is not None else "a batch without the records that a cleaner removed"
