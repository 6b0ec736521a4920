"""The steps that bring a partition under its new name: the directory itself, or a copy of it."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator

from segmend.errors import SegmendError
from segmend.formats.partition_metadata import FILE_NAME
from segmend.surgery.fingerprint import MISSING, Fingerprint, below, look
from segmend.surgery.new_bytes import NewBytes
from segmend.surgery.ops.rename.naming import NewName
from segmend.surgery.planning.topic_id_step import topic_id_step
from segmend.surgery.step import Step
from segmend.surgery.steps.append_file import AppendFile
from segmend.surgery.steps.make_dir import MakeDir
from segmend.surgery.steps.move_dir import MoveDir
from segmend.surgery.steps.quarantine import Quarantine
from segmend.surgery.steps.replace_file import ReplaceFile
from segmend.surgery.writing.transfer import allocated


def moved(each: NewName, *, replacing: bool) -> Iterator[Step]:
    """The directory renamed, and its topic id set, or set aside where the broker is to write it."""
    source, path = each.partition.path, f"{each.replica.path}/{FILE_NAME}"
    reason = f"{each.partition.topic} is {each.topic} from now on"
    yield MoveDir.of(source, each.replica.path, reason, replacing=replacing)
    old = look(f"{source}/{FILE_NAME}")
    if each.replica.topic_id is not None and each.replica.topic_id != each.partition.topic_id:
        yield _stamped(each, old)
    elif each.replica.topic_id is None and old.kind == "file":
        yield Quarantine(
            path=path, before=old.but(sha256=None), allocated=allocated(f"{source}/{FILE_NAME}"),
            reason=f"the id of {each.partition.topic}",
        )  # fmt: skip


def copied(each: NewName) -> Iterator[Step]:
    """A directory with the same files, but for the topic id; raises `SegmendError` for what is no file."""
    source, target = each.partition.path, each.replica.path
    yield MakeDir.like(target, source, f"a copy of {each.partition.name}")
    for name, status in below(source):
        if status.type != "file":
            raise SegmendError(f"{source}/{name}: is no plain file; move it out of the way first")
        if name == FILE_NAME:
            continue
        like = look(f"{source}/{name}", content=False)
        content = NewBytes.range_of(f"{source}/{name}", 0, status.size)
        yield AppendFile(
            path=f"{target}/{name}", before=MISSING, after=like, content=content,
            reason=f"as in {posixpath.basename(source)}",
        )  # fmt: skip
    if each.replica.topic_id is not None:
        yield _stamped(each, MISSING)


def _stamped(each: NewName, before: Fingerprint) -> ReplaceFile:
    """`before` is what the file under the new name is by then."""
    reason = f"topic id {each.replica.topic_id} of {each.topic}"
    return topic_id_step(each.partition, each.replica.path, each.replica.topic_id, reason, before=before)
