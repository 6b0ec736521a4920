"""Damage of any kind, done by chance to any file or directory of a broker's log dirs."""

from __future__ import annotations

import os
import random
import shutil
import socket
import stat
from collections.abc import Callable
from pathlib import Path

from tests.copies import copy_into
from tests.faults.on_disk import exchange, lengthen, move_away, overwrite, remove

Hurt = Callable[[Path, random.Random, list[Path]], object]
HUGE = (1 << 31, (1 << 32) + 17, 1 << 40)
ODD_NAMES = (
    "a\nb",
    "\x1b[31mred",
    "\udcff\udcfe-0",
    "x\udc80.log",
    "name with blank",
    "-rf",
    "--help",
    "a\tb-0",
    "\u202egol.0",
    "'; true; '",
    "$(true)-0",
    "n" * 255,
    "00000000000000000000.log\n",
    "\udcff.index",
    "orders-\n0",
    "*",
    "~",
    "{0}-1",
)
"""Names that break lines, terminals, shells and encodings; `\\udcXX` are bytes that are no UTF-8."""
ODD_SUFFIXES = (".swap", ".cleaned", ".deleted", ".kafka_cleanshutdown", ".tmp", "\n", "\udcff", ".log")


def bytes_of(path: Path) -> bytearray:
    """What is in a file before the zeros that it ends with."""
    with open(path, "rb") as stream:
        return bytearray(stream.read(1 << 21))


def place(path: Path, draw: random.Random) -> int:
    """A byte in what was written."""
    return draw.randrange(len(bytes_of(path).rstrip(b"\0")) or 1)


def flipped(path: Path, draw: random.Random, _all: list[Path]) -> None:
    at = place(path, draw)
    data = bytes_of(path)
    overwrite(path, at, bytes([data[at] ^ 1 << draw.randrange(8)]) if data else b"")


def cut(path: Path, draw: random.Random, _all: list[Path]) -> None:
    os.truncate(path, place(path, draw))


def emptied(path: Path, _draw: random.Random, _all: list[Path]) -> None:
    os.truncate(path, 0)


def zeroed(path: Path, draw: random.Random, _all: list[Path]) -> None:
    at, size = place(path, draw), path.stat().st_size
    overwrite(path, at, bytes(min(draw.choice((8, 300, 4096)), size - at)))


def garbage(path: Path, draw: random.Random, _all: list[Path]) -> None:
    overwrite(path, place(path, draw), draw.randbytes(draw.choice((4, 61, 700))))


def longer(path: Path, draw: random.Random, _all: list[Path]) -> None:
    lengthen(path, draw.choice((draw.randbytes(77), bytes(8), bytes(5000), bytes_of(path)[:4096])))


def swapped(path: Path, draw: random.Random, every: list[Path]) -> None:
    """With another one of its kind, or with anything."""
    alike = [other for other in every if other.suffix == path.suffix and other != path and other.is_file()]
    other = draw.choice(alike or [each for each in every if each != path])
    exchange(path, other)


def doubled(path: Path, draw: random.Random, _all: list[Path]) -> None:
    stem = path.name.partition(".")[0]
    names = [path.name + draw.choice(ODD_SUFFIXES), draw.choice(ODD_NAMES)]
    if stem.isdecimal():
        names.append(path.name.replace(stem, f"{int(stem) + draw.choice((1, 7, 10**12)):020d}"))
    shutil.copy2(path, path.with_name(draw.choice(names)))


def renamed(path: Path, draw: random.Random, _all: list[Path]) -> None:
    path.rename(path.with_name(draw.choice((path.name + draw.choice(ODD_SUFFIXES), draw.choice(ODD_NAMES)))))


def a_pipe(path: Path, _draw: random.Random, _all: list[Path]) -> None:
    remove(path)
    os.mkfifo(path)


def a_socket(path: Path, _draw: random.Random, _all: list[Path]) -> None:
    remove(path)
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.getcwd()
        os.chdir(path.parent)  # an address has little room
        try:
            listener.bind(path.name)
        finally:
            os.chdir(here)


def a_device(path: Path, draw: random.Random, _all: list[Path]) -> None:
    """/dev/zero, /dev/full: bytes without end. A pipe for who may not make one."""
    remove(path)
    try:
        os.mknod(path, 0o666 | stat.S_IFCHR, os.makedev(1, draw.choice((5, 7))))
    except PermissionError:
        os.mkfifo(path)


def a_loop(path: Path, draw: random.Random, _all: list[Path]) -> None:
    remove(path)
    path.symlink_to(draw.choice((path.name, "..", ".", "nowhere", "/dev/zero", "/etc/passwd")))


def linked(path: Path, _draw: random.Random, _all: list[Path]) -> None:
    """A link to another place, where it is as it was."""
    move_away(path, path.parents[2] / "away" / f"{path.parent.name}-{path.name}")


def shut_away(path: Path, draw: random.Random, every: list[Path]) -> None:
    """The same in a folder that only root may enter."""
    linked(path, draw, every)
    path.readlink().parent.chmod(0)


def another_s(path: Path, draw: random.Random, every: list[Path]) -> None:
    """The bytes of another one of its kind: a second dir with an id, a log of another partition."""
    alike = [other for other in every if other.suffix == path.suffix and other != path and other.is_file()]
    path.write_bytes(bytes_of(draw.choice(alike)) if alike else b"")


def spelled(path: Path, draw: random.Random, _all: list[Path]) -> None:
    """As another system, or a hand, writes the name."""
    name = path.name
    path.rename(
        path.with_name(draw.choice((name.upper(), f" {name}", f"{name} ", f"{name} (1)", f"0{name}")))
    )


def huge(path: Path, draw: random.Random, _all: list[Path]) -> None:
    os.truncate(path, draw.choice(HUGE))


def closed(path: Path, draw: random.Random, _all: list[Path]) -> None:
    path.chmod(draw.choice((0, 0o200, 0o111)))


def a_folder(path: Path, draw: random.Random, _all: list[Path]) -> None:
    remove(path)
    path.mkdir()
    if draw.random() < 0.5:
        (path / draw.choice(ODD_NAMES)).write_text("x")


def a_file(path: Path, draw: random.Random, _all: list[Path]) -> None:
    remove(path)
    path.write_bytes(draw.randbytes(draw.choice((0, 100))))


def odd_inside(path: Path, draw: random.Random, every: list[Path]) -> None:
    """Something of an odd name in a directory."""
    name = draw.choice(ODD_NAMES)
    new = path / name
    if draw.random() < 0.5:
        new.mkdir()
        new /= "0" * 20 + ".log"
    source = draw.choice([each for each in every if each.is_file()])
    shutil.copy2(source, new)


def folder_doubled(path: Path, draw: random.Random, _all: list[Path]) -> None:
    topic = path.name.rpartition("-")[0] or "x"
    ends = (
        "-7",
        "-0.0123456789abcdef0123456789abcdef-delete",
        "-0.0123456789abcdef0123456789abcdef-stray",
        "-0.0123456789abcdef0123456789abcdef-future",
        "-01",
        "",
    )
    name = draw.choice((*(topic + end for end in ends), *ODD_NAMES))
    other = draw.choice(sorted(each for each in path.parent.parent.iterdir() if each.is_dir()))
    copy_into(path, draw.choice((path.parent, other)) / name)


def all_empty(path: Path, _draw: random.Random, _all: list[Path]) -> None:
    """A full disk, or a power cut: names, and nothing in the files."""
    for each in path.iterdir():
        if each.is_file():
            os.truncate(each, 0)


def segments_behind(path: Path, draw: random.Random, _all: list[Path]) -> None:
    """One to three empty segments behind the last one."""
    bases = [int(each.stem) for each in path.glob("*.log") if each.stem.isdecimal()]
    base = max(bases, default=0)
    for _ in range(draw.randint(1, 3)):
        base += draw.choice((1, 24, 10**9))
        (path / f"{base:020d}.log").touch()


def set_aside(path: Path, draw: random.Random, every: list[Path]) -> None:
    """A partition with a hurt file, under the name of one that was deleted, strayed, or is moved in."""
    files = [each for each in sorted(path.iterdir()) if each.is_file()]
    draw.choice((flipped, cut, emptied, closed))(draw.choice(files), draw, every)
    kind = draw.choice(("delete", "stray", "future"))
    path.rename(path.with_name(f"{path.name}.0123456789abcdef0123456789abcdef-{kind}"))


FILES: dict[str, tuple[Hurt, int]] = {
    "flipped": (flipped, 8),
    "cut": (cut, 5),
    "emptied": (emptied, 3),
    "zeroed": (zeroed, 5),
    "garbage": (garbage, 4),
    "longer": (longer, 3),
    "swapped": (swapped, 3),
    "doubled": (doubled, 3),
    "renamed": (renamed, 3),
    "removed": (lambda path, _draw, _all: remove(path), 4),
    "pipe": (a_pipe, 3),
    "socket": (a_socket, 2),
    "device": (a_device, 3),
    "loop": (a_loop, 3),
    "linked": (linked, 2),
    "huge": (huge, 3),
    "closed": (closed, 3),
    "folder": (a_folder, 2),
    "another's": (another_s, 3),
    "spelled": (spelled, 2),
    "shut away": (shut_away, 2),
}
FOLDERS: dict[str, tuple[Hurt, int]] = {
    "removed": (lambda path, _draw, _all: remove(path), 2),
    "closed": (closed, 3),
    "odd inside": (odd_inside, 5),
    "doubled": (folder_doubled, 5),
    "renamed": (renamed, 2),
    "file": (a_file, 2),
    "pipe": (a_pipe, 2),
    "socket": (a_socket, 1),
    "device": (a_device, 1),
    "loop": (a_loop, 3),
    "linked": (linked, 2),
    "all empty": (all_empty, 2),
    "segments behind": (segments_behind, 3),
    "set aside": (set_aside, 3),
}
"""What is done to each, and how often it is drawn."""
ON_FOLDERS = 0.22


def hurt_once(dirs: list[Path], draw: random.Random) -> str:
    """Do one of them; what it was. A log dir itself is hurt more rarely than what is in it."""
    every = sorted((path for each in dirs if each.is_dir() for path in each.rglob("*")), key=os.fsencode)
    files = [path for path in every if stat.S_ISREG(path.lstat().st_mode) and path.lstat().st_size < 1 << 24]
    folders = [path for path in every if path.is_dir() and not path.is_symlink()]
    if draw.random() < ON_FOLDERS:
        table, target = FOLDERS, draw.choice([*folders, *dirs])
    else:
        kinds = sorted({path.suffix for path in files})
        kind = draw.choice([".log", ".log", ".log", *kinds])
        table, target = FILES, draw.choice([path for path in files if path.suffix == kind] or files)
    name = draw.choices(list(table), [often for _, often in table.values()])[0]
    said = f"{name}: {target.relative_to(dirs[0].parent)!s}"
    try:
        table[name][0](target, draw, every)
    except (
        OSError,
        ValueError,
        IndexError,
    ) as error:  # it was hurt before so that this can no longer be done
        said += f" (not done: {error})"
    return said
