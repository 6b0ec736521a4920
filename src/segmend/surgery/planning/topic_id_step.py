"""The step that writes a topic id into the `partition.metadata` of a directory that moves."""

from __future__ import annotations

from segmend.formats.partition_metadata import FILE_NAME, PartitionMetadata, render
from segmend.logdir.tree import PartitionDir
from segmend.surgery.fingerprint import Fingerprint, hash_bytes, look
from segmend.surgery.new_bytes import NewBytes
from segmend.surgery.steps.replace_file import ReplaceFile


def topic_id_step(
    partition: PartitionDir,
    path: str,
    topic_id: str | None,
    reason: str,
    *,
    before: Fingerprint | None = None,
) -> ReplaceFile:
    """`path` is what the directory is called by then, `before` the file in it by then: as now, if not given.

    A new file is dressed as the old one, else as its directory.
    """
    data = render(PartitionMetadata(topic_id=topic_id))
    own = look(f"{partition.path}/{FILE_NAME}")
    home = look(partition.path, content=False)
    like = own if own.kind == "file" else home.but(kind="file", mode=0o644, xattrs=None)
    return ReplaceFile(
        path=f"{path}/{FILE_NAME}", before=before or own,
        after=like.but(size=len(data), sha256=hash_bytes(data)), content=NewBytes.inline(data), reason=reason,
    )  # fmt: skip
