"""A page that somebody asked for by name: written whole or not at all, and never into a log dir."""

from __future__ import annotations

from collections.abc import Iterable

from segmend.errors import SegmendError, UsageError, system_words
from segmend.logdir import disk
from segmend.logdir.tree import LogDir
from segmend.surgery.fingerprint import Fingerprint
from segmend.surgery.writing.atomic import bytes_of, write_atomically
from segmend.surgery.writing.effects import Effects
from segmend.surgery.writing.work import Workplace, folder

_BEGIN = b"<!doctype html"


def write_page(path: str, content: str, dirs: Iterable[LogDir]) -> None:
    """Write it; raises `UsageError` for a slip of the hand, `SegmendError` for what the system refuses."""
    real = disk.real_path(path)
    for each in dirs:
        if f"{real}/".startswith(f"{each.real_path}/"):
            raise UsageError(f"{path}: inside the log dir {each.path}; give a place elsewhere")
    kind = disk.path_type(path)
    if kind is not None and (kind != "file" or not disk.read(path, len(_BEGIN)).startswith(_BEGIN)):
        raise UsageError(f"{path}: is there already, and is no page; give another name")
    work = Workplace(fx=Effects(), vault=folder(real))
    try:
        write_atomically(work, real, bytes_of(content.encode(), work), Fingerprint(kind="file", mode=0o644))
    except OSError as error:
        raise SegmendError(f"{path}: {system_words(error)}") from None
