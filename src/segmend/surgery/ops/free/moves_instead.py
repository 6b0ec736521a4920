"""Moves to other disks of the broker that would free enough: commands to consider, nothing is done."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

from segmend.logdir import disk
from segmend.logdir.tree import LogDir
from segmend.surgery.request import Request
from segmend.surgery.writing.transfer import allocated


def moves_that_free(request: Request[object], full: Sequence[LogDir], wanted: int) -> Iterator[str]:
    """One command a target dir, the largest partitions first, each to the disk with most room."""
    homes = {disk.file_stat(log_dir.path).device for log_dir in full}
    others = [d for d in request.dirs if disk.file_stat(d.path).device not in homes]
    free = {disk.file_stat(d.path).device: d.space().available for d in others}
    sizes = sorted(
        ((allocated(p.path), p.name) for d in full for p in d.current),
        key=lambda row: (-row[0], row[1]),
    )
    chosen: dict[str, list[str]] = {}
    for size, name in sizes:
        best = max(others, key=lambda d: free[disk.file_stat(d.path).device], default=None)
        if wanted <= 0 or best is None:
            break
        device = disk.file_stat(best.path).device
        if size and size <= free[device]:
            chosen.setdefault(best.path, []).append(name)
            free[device] -= size
            wanted -= size
    given = dict(zip((d.path for d in request.dirs), request.given, strict=True))
    for target, names in chosen.items():
        options = " ".join(f"--partition {shlex.quote(name)}" for name in names)
        dirs = " ".join(shlex.quote(path) for path in request.given)
        place = shlex.quote(given[target])
        yield f"to move partitions instead: segmend plan move {dirs} {options} --to {place} -o move.json"
