"""The files of a node's log dirs before and after a start, and what became of each."""

import hashlib
import os
import re
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from segmend.formats.names import parse_dir_name

TEXT = re.compile(r"(?:-checkpoint|\.metadata|^quorum-state|^meta\.properties|^\.kafka_cleanshutdown)$")
LARGE = 1 << 20
JUST = 300
"""Seconds that no start takes; the bases are older."""
HEX = re.compile(r"\b[0-9a-f]{32}(?=-(?:stray|delete|future)$)")


@dataclass(frozen=True)
class Seen:
    """One file: its bytes (of a large one the beginning), and its whole size; size -1 is no file."""

    size: int
    data: bytes

    def short(self) -> str:
        """A few digits that tell contents apart."""
        return hashlib.blake2b(self.data, digest_size=3).hexdigest()


Tree = dict[str, dict[str, Seen]]
"""By `d0` for the top of a log dir, `d0/f000-0` for a directory in it; then by name."""


def look(root: Path, node: str = "b1") -> Tree:
    """Everything in the log dirs of a node."""
    found: Tree = {}
    user = (root / node).stat().st_uid
    for log_dir in sorted(path for path in (root / node).glob("d[0-9]") if path.is_dir()):
        found[log_dir.name] = _of(log_dir, user)
        for folder in sorted(path for path in log_dir.iterdir() if path.is_dir()):
            found[f"{log_dir.name}/{folder.name}"] = _of(folder, user)
    return found


def _of(folder: Path, user: int) -> dict[str, Seen]:
    with os.scandir(folder) as listed:
        entries = sorted((each for each in listed if each.name != ".lock"), key=lambda each: each.name)
    return {entry.name: _seen(entry, user) for entry in entries}


def _seen(entry: os.DirEntry[str], user: int) -> Seen:
    if not entry.is_file() or (entry.is_symlink() and _is_closed(Path(entry.path).resolve().parent, user)):
        return Seen(-1, b"")
    file = os.open(entry.path, os.O_RDONLY)
    try:
        size = os.fstat(file).st_size
        return Seen(size, os.read(file, min(size, LARGE)))
    finally:
        os.close(file)


def _is_closed(folder: Path, user: int) -> bool:
    """Whether what lies there is nothing to the broker's user, though we see it."""
    status = folder.stat()
    return user not in (0, status.st_uid) and not status.st_mode & 0o077


def fingerprint(*trees: Tree) -> str:
    """A few digits that tell what was hurt from what is hurt today, should a wound or a base change."""
    found = hashlib.blake2b(digest_size=4)
    for tree in trees:
        for folder, names in tree.items():
            for name, seen in names.items():
                found.update(f"{folder}/{name} {seen.size} ".encode(errors="surrogateescape") + seen.data)
    return found.hexdigest()


def grown(before: bytes, after: bytes) -> list[Any] | None:
    """Of a log that grew: how many batches came, how many of them are markers, the next offset.

    Of one that the load had cut also the size that was left: what came was written just now.
    """
    left = len(before) if after.startswith(before) else kept(before, after)
    if left >= len(after) or (left < len(before) and written_ms(after[left:]) < (time.time() - JUST) * 1000):
        return None
    at, count, markers, end = left, 0, 0, 0
    while at + 61 <= len(after):
        base, size = struct.unpack_from(">qi", after, at)
        attributes, last = struct.unpack_from(">hi", after, at + 21)
        at, count, end = at + 12 + size, count + 1, base + last + 1
        markers += bool(attributes & 0x20)
    return [count, markers, end] if left == len(before) else [count, markers, end, left]


def kept(before: bytes, after: bytes) -> int:
    """The size of the whole batches that both begin with."""
    at = 0
    while at + 12 <= len(after):
        end = at + 12 + struct.unpack_from(">i", after, at + 8)[0]
        if end <= at or before[at:end] != after[at:end] or end > len(after):
            break
        at = end
    return at


def written_ms(batch: bytes) -> int:
    """The largest timestamp of the batch that this begins with."""
    return int(struct.unpack_from(">q", batch, 35)[0]) if len(batch) >= 61 else -1


def became(name: str, before: Seen, after: Seen) -> list[Any] | str | None:
    """None if it is the same; the text of a small text; else size and digits, and how a log grew."""
    if before == after:
        return None
    if TEXT.search(name):
        return after.data.decode("utf-8", "replace")
    if name.endswith(".log") and (more := grown(before.data, after.data)) is not None:
        return [after.size, "grown", *more]
    if before.size > LARGE or after.size > LARGE:
        return [after.size]
    if name.endswith("index") and after.data.rstrip(b"\0") == before.data.rstrip(b"\0"):
        return [after.size]
    return [after.size, after.short()]


def changes(before: Tree, after: Tree) -> dict[str, Any]:
    """By directory, what is not as before: files gone, new, changed; directories come and gone.

    A directory that was renamed is told by its new name, `<HEX>` for the random part, with no files:
    what it holds is what the old one held, or `changes` of that. `t-+1` has `t-1` as its new name.
    """
    found: dict[str, Any] = {}
    new = set(after) - set(before)
    renamed = {origin(name): name for name in new if HEX.search(name)}
    for name in sorted(set(before) | (new - set(renamed.values()))):
        there = renamed.get(name, renamed.get(as_renamed(name))) if name not in after else None
        one = _changes(before.get(name), after.get(there or name))
        if there is not None:
            one["renamed"] = HEX.sub("HEX", there)
        elif name in renamed and name in after:
            one = {"renamed": HEX.sub("HEX", renamed[name]), **_changes({}, after[name])}
        if one:
            found[name] = one
    return found


def origin(name: str) -> str:
    """The directory that was renamed to this: `d0/f000-0.<hex>-stray` was `d0/f000-0`."""
    return re.sub(r"\.[0-9a-f]{32}-(?:stray|delete|future)$", "", name)


def as_renamed(name: str) -> str:
    """What brokers put before the random part: the topic, and the number that they read."""
    log_dir, _, directory = name.rpartition("/")
    parsed = parse_dir_name(directory)
    return name if parsed.kind != "current" else f"{log_dir}/{parsed.topic}-{parsed.partition}"


def _changes(before: dict[str, Seen] | None, after: dict[str, Seen] | None) -> dict[str, Any]:
    if before is None:
        return {"made": True, **_changes({}, after)}
    if after is None:
        return {"removed": True}
    new = {
        name: _new(name, after[name]) for name in sorted(set(after) - set(before)) if after[name].size >= 0
    }
    both = ((name, became(name, before[name], after[name])) for name in sorted(set(before) & set(after)))
    found = {
        "gone": sorted(name for name in set(before) - set(after) if before[name].size >= 0),
        "new": new,
        "changed": {name: what for name, what in both if what is not None},
    }
    return {key: value for key, value in found.items() if value}


def _new(name: str, seen: Seen) -> list[Any] | str:
    return seen.data.decode("utf-8", "replace") if TEXT.search(name) else [seen.size, seen.short()]
