"""Where the old bytes of a plan go: asked before it is applied, and by who shows how to apply it."""

from __future__ import annotations

from segmend.errors import UsageError
from segmend.logdir import disk
from segmend.surgery.boundaries import refuse_inside
from segmend.surgery.plan import BACKUPS, Plan
from segmend.surgery.writing.work import device_of


def backup_place(plan: Plan, state_dir: str, asked: str | None) -> str | None:
    """The real path of another place than `state_dir` for old bytes; raises `UsageError` if it cannot be.

    A plan that is to free a disk says which (`extra["backups"]["off"]`), and may name a place (`"dir"`).
    """
    given, told = asked or _told(plan, "dir"), "--backup-dir"
    place = None if given is None else disk.real_path(given)
    if place is not None:
        refuse_inside(plan, place, told)
        if disk.path_type(place) not in (None, "dir"):
            raise UsageError(f"{told} {given}: is no directory; nothing was changed")
    off = _told(plan, "off")
    if off is not None and device_of(place or state_dir) == device_of(off):
        raise UsageError(
            f"{place or state_dir}: the old bytes would stay on the disk of {off}, and nothing would come "
            f"free: {told} DIR on another disk; nothing was changed"
        )
    return place


def _told(plan: Plan, name: str) -> str | None:
    """The first that the plan says; anything else than a path says nothing."""
    every = [each.get(name) for each in plan.said(BACKUPS) if isinstance(each, dict)]
    paths = (each for each in every if isinstance(each, str) and each.startswith("/") and "\0" not in each)
    return next(paths, None)
