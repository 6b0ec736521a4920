"""What is left of a file that is a symbolic link: no plan writes through one."""

from __future__ import annotations

from segmend.checks import remedies
from segmend.logdir.file_system import LINKS
from segmend.logdir.partition_dir import PartitionDir
from segmend.surgery.plan import Left


def left_in_a_link(
    partition: PartitionDir, name: str, why: str, *, code: str | None = None, position: int | None = None
) -> Left | None:
    """What to say of what is wrong with the file, by the finding if it has one; None if it is no link."""
    if partition.entries.get(name) not in LINKS:
        return None
    path = f"{partition.path}/{name}"
    after = remedies.unlinked(path).command
    return Left(why=f"{why}, in a symbolic link", code=code, path=path, position=position, next=after)
