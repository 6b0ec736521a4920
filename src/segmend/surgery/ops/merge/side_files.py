"""What a merge leaves out, as logs of their own: `SIDE/TOPIC-N/<offset>.log`, batches as they are.

SIDE is like a log dir, so that `segmend show` and `segmend rescue` read it. What two replicas have alike
is there once; where a third has other bytes at the same offsets, they go to `SIDE/branch-2/TOPIC-N`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from segmend.errors import UsageError
from segmend.formats.names import file_prefix
from segmend.frozen import replace
from segmend.logdir import disk
from segmend.merge.pieces import Piece, pieces
from segmend.merge.spans import Span, without
from segmend.merge.values import Merged, Range
from segmend.surgery.fingerprint import MISSING, Fingerprint, look
from segmend.surgery.new_bytes import NewBytes
from segmend.surgery.ops.merge.branches import alike, losing, overlapping
from segmend.surgery.ops.merge.case import Case
from segmend.surgery.ops.merge.log_steps import joined
from segmend.surgery.replicas.new_files import model_of
from segmend.surgery.step import Step
from segmend.surgery.steps.append_file import AppendFile
from segmend.surgery.steps.make_dir import MakeDir
from segmend.surgery.writing.work import folder

Kept = list[tuple[int, Span]]
"""What is in one directory: replica and offsets."""


def place_of(side: str, given: Sequence[str], case: Case) -> str:
    """The real path of SIDE, which is made if it is missing; raises `UsageError` where it cannot be."""
    real = disk.real_path(side)
    if disk.path_type(real) not in ("dir", None):
        raise UsageError(f"--side {side}: is no directory; give another one")
    if disk.path_type(folder(real)) != "dir":
        raise UsageError(f"--side {side}: there is no directory {folder(real)}; make that first")
    log_dirs = [disk.real_path(each) for each in given] + [place.log_dir.path for place in case.places]
    home = next((each for each in log_dirs if f"{real}/".startswith(f"{each.rstrip('/')}/")), None)
    if home is not None:
        raise UsageError(f"--side {side}: lies in the log dir {home}, where no broker would start")
    taken = f"{real}/{case.target.name}"
    if disk.path_type(taken) is not None:
        raise UsageError(f"--side {side}: {taken} is there already; give another directory")
    return real


def side_steps(side: str, case: Case, merged: Merged) -> list[Step]:
    """The steps that keep it; the replica that is operated on comes first. Raises `Unreadable`."""
    layers: list[Kept] = []
    for number in range(len(case.replicas)):
        for span in losing(merged, number):
            _keep(number, span, layers, case)
    home = case.target.log_dir.path if disk.path_type(side) is None else side
    like = look(home, content=False).but(mtime_ns=None)
    made = [] if home == side else [MakeDir(path=side, after=like, reason="for what no branch that won has")]
    rest = [step for at, kept in enumerate(layers) for step in _layer(side, at, kept, case, like)]
    return [*made, *rest] if rest else []


def _keep(number: int, span: Span, layers: list[Kept], case: Case) -> None:
    """Into the first directory that has room for these offsets, or has these batches."""
    left: Sequence[Span] = [span]
    for kept in layers:
        for other, there in [*kept]:
            for part in [each for one in left for each in overlapping(one, [there])]:
                if alike(case, (number, other), part):
                    left = without(left, [part])
        free = [each for each in left if not overlapping(each, [there for _, there in kept])]
        kept += [(number, each) for each in free]
        left = [each for each in left if each not in free]
    if left:
        layers.append([(number, each) for each in left])


def _layer(side: str, at: int, kept: Kept, case: Case, like: Fingerprint) -> Iterator[Step]:
    home = f"{side}/branch-{at + 1}" if at else side
    if at:
        yield MakeDir(path=home, after=like, reason="for what has the same offsets otherwise")
    place = f"{home}/{case.target.name}"
    yield MakeDir(path=place, after=like, reason="for the records of branches that lost")
    model = model_of(case.target.log_dir, case.target)
    for number, (first, last) in sorted(kept, key=lambda each: each[1]):
        wanted = Range(replica=number, first_offset=first, last_offset=last)
        for piece in joined([_whole(each) for each in pieces(case.replicas, case.places, [wanted])]):
            yield _file(f"{place}/{file_prefix(piece.first)}.log", piece, model, like)


def _whole(piece: Piece) -> Piece:
    """A batch that reaches into the branch stays whole: its records below are on both sides."""
    return replace(piece, cut=False)


def _file(path: str, piece: Piece, model: Fingerprint, owner: Fingerprint) -> Step:
    content = NewBytes.range_of(piece.log.path, piece.start, piece.size)
    after = model.but(size=content.length, uid=owner.uid, gid=owner.gid, mtime_ns=piece.log.stat().mtime_ns)
    reason = f"offsets {piece.first} to {piece.last} of {piece.replica.path}, which the merged log has not"
    return AppendFile(path=path, before=MISSING, after=after, content=content, reason=reason)
