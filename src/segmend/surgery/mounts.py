"""What something is mounted on, or in: the system lets nobody rename or remove it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from segmend.logdir import disk
from segmend.surgery.step import Step
from segmend.surgery.steps.make_dir import MakeDir
from segmend.surgery.steps.move_dir import MoveDir
from segmend.surgery.steps.quarantine import Quarantine
from segmend.surgery.steps.replace_file import ReplaceFile
from segmend.surgery.writing.work import folder


def renamed(step: Step) -> Iterator[str]:
    """What a step renames or removes in the log dirs; the other ones write into what is there."""
    if isinstance(step, MakeDir | MoveDir | Quarantine | ReplaceFile):
        yield from step.paths


def mounted(places: Iterable[str]) -> Iterator[str]:
    """Why these, or what they are in, stay: they would be called busy, of a copied one behind the copy."""
    homes = {*places}
    for mount in sorted(disk.mount_points()) if homes else ():
        above = mount
        while above not in homes and above != folder(above):
            above = folder(above)
        if above in homes:
            yield (
                f"{mount}: is a mount point, which can be neither renamed nor removed; unmount it (umount); "
                "if its files are to stay, copy them into what it hides, and plan again"
            )
