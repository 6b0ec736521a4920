"""What is done to places: one row a trial. Nothing here is damage of bytes.

A `Trial` hurts one log dir, or (`alone`) the whole of `log.dirs`; those of the first kind share a start.
`uid` is the user whom the broker runs as and to whom everything belonged before; None: root, and root's.
"""

import os
import shutil
import struct
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.faults.on_disk import move_away, put_link
from tests.lab.places.base import partition_in

USER = 12345
"""Nobody's user id."""
METADATA = "__cluster_metadata-0"
Hurt = Callable[[Path], object]
"""Given the log dir; given `b1`, the directory of all of them, where it is `alone`."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """`settings` win over those of the lab; `{b1}` in them is the directory of the log dirs."""

    name: str
    hurt: Hurt
    uid: int | None = USER
    alone: bool = False
    since: tuple[int, ...] = (0, 8)
    until: tuple[int, ...] = (9,)
    marks: tuple[str, ...] = ("clean",)
    settings: dict[str, str] = field(default_factory=dict)
    kraft: bool = False

    def applies(self, number: tuple[int, ...], mark: str) -> bool:
        """Whether it is tried on that release after that kind of stop."""
        return (
            self.since <= number < self.until and mark in self.marks and (not self.kraft or number >= (3, 3))
        )


def given(path: Path, uid: int, mode: int, gid: int | None = None) -> None:
    """Give a file away and set its mode."""
    os.chown(path, uid, uid if gid is None else gid, follow_symlinks=False)
    path.chmod(mode)


def first(log_dir: Path, suffix: str) -> Path:
    """The first file of the partition with that ending."""
    return min(partition_in(log_dir).glob(f"*{suffix}"))


def last(log_dir: Path, suffix: str) -> Path:
    """The last one."""
    return max(partition_in(log_dir).glob(f"*{suffix}"))


def made(path: Path, content: str = "x") -> Path:
    """A file, made if it is not there."""
    if not path.exists():
        path.write_text(content)
    return path


FILES: dict[str, Callable[[Path], Path]] = {
    "lock": lambda d: made(d / ".lock", ""),
    "clean-marker": lambda d: made(d / ".kafka_cleanshutdown", '{"version":0,"brokerEpoch":-1}'),
    "meta-properties": lambda d: d / "meta.properties",
    "recovery-checkpoint": lambda d: d / "recovery-point-offset-checkpoint",
    "high-watermarks": lambda d: d / "replication-offset-checkpoint",
    "log-starts": lambda d: made(d / "log-start-offset-checkpoint", "0\n0\n"),
    "cleaner-checkpoint": lambda d: made(d / "cleaner-offset-checkpoint", "0\n0\n"),
    "high-watermarks-tmp": lambda d: made(d / "replication-offset-checkpoint.tmp"),
    "epochs-tmp": lambda d: made(partition_in(d) / "leader-epoch-checkpoint.tmp"),
    "foreign-file": lambda d: made(d / "README"),
    "old-log": lambda d: first(d, ".log"),
    "active-log": lambda d: last(d, ".log"),
    "old-index": lambda d: first(d, ".index"),
    "active-index": lambda d: last(d, ".index"),
    "old-timeindex": lambda d: first(d, ".timeindex"),
    "active-timeindex": lambda d: last(d, ".timeindex"),
    "txnindex": lambda d: first(d, ".txnindex"),
    "newest-snapshot": lambda d: last(d, ".snapshot"),
    "old-snapshot": lambda d: made(partition_in(d) / f"{1:020d}.snapshot"),
    "epochs": lambda d: partition_in(d) / "leader-epoch-checkpoint",
    "topic-id": lambda d: partition_in(d) / "partition.metadata",
    "foreign-in-partition": lambda d: made(partition_in(d) / "README"),
    "deleted-file": lambda d: made(partition_in(d) / f"{1:020d}.log.deleted"),
}
"""Files of a log dir that may be closed."""
WAYS = {"readable": (0, 0o644), "closed": (0, 0o600)}
"""To whom it is given, with which mode."""
DIRECTORIES: dict[str, Callable[[Path], Path]] = {"dir": lambda d: d, "partition": partition_in}
DIR_WAYS = {
    "of-root": (0, 0o755), "closed": (0, 0o700), "not-writable": (USER, 0o500),
    "not-readable": (USER, 0o300), "not-searchable": (USER, 0o600),
}  # fmt: skip
METADATA_FILES: dict[str, Callable[[Path], Path]] = {
    "metadata-log": lambda m: max(m.glob("*.log")),
    "metadata-index": lambda m: max(m.glob("*.index")),
    "metadata-timeindex": lambda m: max(m.glob("*.timeindex")),
    "quorum-state": lambda m: m / "quorum-state",
    "metadata-epochs": lambda m: m / "leader-epoch-checkpoint",
    "metadata-topic-id": lambda m: m / "partition.metadata",
    "metadata-foreign": lambda m: made(m / "README"),
    "bootstrap": lambda m: m.parent / "bootstrap.checkpoint",
}


def closing(choose: Callable[[Path], Path], uid: int, mode: int) -> Hurt:
    """A file given away, if there is one."""

    def hurt(log_dir: Path) -> None:
        try:
            path = choose(log_dir)
        except ValueError:
            return
        if path.exists():
            given(path, uid, mode)

    return hurt


def quiet(hurt: Hurt) -> Hurt:
    """The same where no log is left to load."""

    def both(log_dir: Path) -> None:
        shutil.rmtree(partition_in(log_dir))
        hurt(log_dir)

    return both


def in_metadata(hurt: Hurt) -> Hurt:
    """Done to the metadata log."""
    return lambda b1: hurt(b1 / "d0" / METADATA)


def acl(mask: int) -> Callable[[Path], object]:
    """The first log is root's, and an ACL lets the user in as far as the mask does."""

    def hurt(log_dir: Path) -> None:
        path = first(log_dir, ".log")
        given(path, 0, 0o600)
        rows = [(1, 6, 2**32 - 1), (2, 6, USER), (4, 0, 2**32 - 1), (16, mask, 2**32 - 1), (32, 0, 2**32 - 1)]
        value = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *row) for row in rows)
        os.setxattr(path, "system.posix_acl_access", value)

    return hurt


def immutable(choose: Callable[[Path], Path]) -> Hurt:
    """`chattr +i`."""
    return lambda log_dir: subprocess.run(["chattr", "+i", choose(log_dir)], check=True)


def append_only(choose: Callable[[Path], Path]) -> Hurt:
    """`chattr +a`."""
    return lambda log_dir: subprocess.run(["chattr", "+a", choose(log_dir)], check=True)


def if_there(way: Callable[[Callable[[Path], Path]], Hurt], choose: Callable[[Path], Path]) -> Hurt:
    """Done to a file, if there is one."""

    def hurt(log_dir: Path) -> None:
        try:
            path = choose(log_dir)
        except ValueError:
            return
        if path.exists():
            given(path, USER, 0o755 if path.is_dir() else 0o644)
            way(lambda _: path)(log_dir)

    return hurt


def read_only_mount(log_dir: Path) -> None:
    """The log dir as a read-only mount of itself."""
    subprocess.run(["mount", "--bind", log_dir, log_dir], check=True)
    subprocess.run(["mount", "-o", "remount,ro,bind", log_dir], check=True)


def read_only_partition(log_dir: Path) -> None:
    """A directory in it so."""
    read_only_mount(partition_in(log_dir))


def tree(uid: int, log_dir: Path) -> None:
    """`chown -R`."""
    subprocess.run(["chown", "-R", f"{uid}:{uid}", log_dir], check=True)


TRIALS: list[Trial] = [
    *(
        Trial(name=f"{name}-{way}", hurt=closing(choose, *WAYS[way]))
        for name, choose in FILES.items()
        for way in WAYS
    ),
    *(
        Trial(name=f"{name}-{way}", hurt=closing(choose, *DIR_WAYS[way]))
        for name, choose in DIRECTORIES.items()
        for way in DIR_WAYS
    ),
    *(
        Trial(name=f"{name}-{way}-quiet", hurt=quiet(closing(choose, *ways[way])))
        for name, choose, ways in (
            ("lock", FILES["lock"], WAYS), ("recovery-checkpoint", FILES["recovery-checkpoint"], WAYS),
            ("high-watermarks", FILES["high-watermarks"], WAYS), ("dir", lambda d: d, DIR_WAYS),
        )
        for way in ways
    ),
    Trial(name="old-log-own-not-writable", hurt=closing(FILES["old-log"], USER, 0o444)),
    Trial(name="old-log-own-not-readable", hurt=closing(FILES["old-log"], USER, 0o200)),
    Trial(name="old-log-of-group", hurt=lambda d: given(first(d, ".log"), 0, 0o660, USER)),
    Trial(name="old-log-of-group-readable", hurt=lambda d: given(first(d, ".log"), 0, 0o640, USER)),
    Trial(name="old-log-of-anybody", hurt=closing(FILES["old-log"], 0, 0o666)),
    Trial(name="acl-lets-in", hurt=acl(6)),
    Trial(name="acl-masked", hurt=acl(4)),
    Trial(name="tree-of-root", hurt=lambda d: tree(0, d)),
    Trial(name="immutable-log", hurt=immutable(FILES["old-log"])),
    Trial(name="immutable-partition", hurt=immutable(partition_in)),
    Trial(name="immutable-dir", hurt=immutable(lambda d: d)),
    *(
        Trial(name=f"immutable-{name}", hurt=if_there(immutable, choose))
        for name, choose in FILES.items()
        if name != "old-log"
    ),
    *(
        Trial(
            name=f"immutable-{name}", alone=True, kraft=True,
            hurt=in_metadata(if_there(immutable, choose)),
        )
        for name, choose in METADATA_FILES.items()
    ),
    Trial(name="append-only-log", hurt=if_there(append_only, FILES["old-log"])),
    Trial(name="append-only-active-log", hurt=if_there(append_only, FILES["active-log"])),
    Trial(name="append-only-partition", hurt=if_there(append_only, partition_in)),
    Trial(name="append-only-dir", hurt=if_there(append_only, lambda d: d)),
    Trial(name="read-only-partition", hurt=read_only_partition),
    Trial(name="read-only-mount", hurt=read_only_mount),
    Trial(name="root-immutable-log", hurt=immutable(FILES["old-log"]), uid=None),
    Trial(name="root-immutable-partition", hurt=immutable(partition_in), uid=None),
    Trial(name="root-immutable-dir", hurt=immutable(lambda d: d), uid=None),
    Trial(name="root-read-only-mount", hurt=read_only_mount, uid=None),
    Trial(name="root-old-log-closed", hurt=closing(FILES["old-log"], USER, 0o000), uid=None),
    Trial(name="root-dir-closed", hurt=closing(lambda d: d, USER, 0o000), uid=None),
    *(
        Trial(
            name=f"{name}-{way}", alone=True, kraft=True,
            hurt=in_metadata(closing(choose, *WAYS[way])),
        )
        for name, choose in METADATA_FILES.items()
        for way in WAYS
    ),
    *(
        Trial(
            name=f"metadata-partition-{way}", alone=True, kraft=True,
            hurt=lambda b1, way=way: given(b1 / "d0" / METADATA, *DIR_WAYS[way]),
        )
        for way in DIR_WAYS
    ),
    *(
        Trial(
            name=f"metadata-dir-{way}", alone=True, kraft=True,
            hurt=lambda b1, way=way: given(b1 / "d0", *DIR_WAYS[way]),
        )
        for way in DIR_WAYS
    ),
    *(
        Trial(
            name=f"metadata-{name}-{way}", alone=True, kraft=True,
            hurt=lambda b1, name=name, way=way: closing(FILES[name], *WAYS[way])(b1 / "d0"),
        )
        for name in ("lock", "meta-properties", "old-log", "recovery-checkpoint")
        for way in WAYS
    ),
]  # fmt: skip


def dropped(b1: Path) -> None:
    """Nothing happens to the dir that is dropped."""


def linked(name: str, target: str) -> Hurt:
    """A symbolic link beside the log dirs, or in one of them."""
    return lambda b1: (b1 / name).symlink_to(target if target.startswith(".") else b1 / target)


def future_beside(b1: Path) -> None:
    """A future replica beside its current one, in the same dir."""
    here = partition_in(b1 / "d3")
    shutil.copytree(here, here.with_name(f"{here.name}.{'5' * 32}-future"))


def moved_and_linked(b1: Path) -> None:
    """A partition that lies elsewhere, with a link in its place."""
    here = partition_in(b1 / "d3")
    move_away(here, b1 / here.name)


def linked_to_another(b1: Path) -> None:
    """A partition directory that is a link to another partition of the same dir."""
    put_link(partition_in(b1 / "d3"), partition_in(b1 / "d4"))


def twice_by_link(b1: Path) -> None:
    """The same replica under its name in another log dir too, by a link."""
    here = partition_in(b1 / "d3")
    (b1 / "d4" / here.name).symlink_to(here)


def file_loop(b1: Path) -> None:
    """A log that is a link to itself."""
    path = first(b1 / "d3", ".log")
    put_link(path, path.name)


def emptied(name: str) -> Hurt:
    """A file of the metadata log cut to nothing."""
    return lambda b1: (b1 / "d0" / METADATA / name).write_bytes(b"")


ALL = ",".join(f"{{b1}}/d{number}" for number in range(8))
WITHOUT_LAST = ALL.removesuffix(",{b1}/d7")
AS_ROOT: dict[str, Any] = {"alone": True, "uid": None}
PLACES = [
    Trial(name="future-beside-current", hurt=future_beside, **AS_ROOT),
    Trial(name="empty-entry", hurt=dropped, **AS_ROOT,
          settings={"log.dirs": ALL.replace("d1,", "d1,,")}),
    Trial(name="blank-entry", hurt=dropped, **AS_ROOT,
          settings={"log.dirs": ALL.replace("d1,", "d1, ,")}),
    Trial(name="empty-entry-last", hurt=dropped, **AS_ROOT, settings={"log.dirs": f"{ALL},"}),
    Trial(name="same-dir-twice", hurt=dropped, **AS_ROOT, settings={"log.dirs": f"{ALL},{{b1}}/d3"}),
    Trial(name="same-dir-slash", hurt=dropped, **AS_ROOT, settings={"log.dirs": f"{ALL},{{b1}}/d3/"}),
    Trial(name="same-dir-dots", hurt=dropped, **AS_ROOT,
          settings={"log.dirs": f"{ALL},{{b1}}/d4/../d3"}),
    Trial(name="same-dir-by-link", hurt=linked("l3", "d3"), **AS_ROOT,
          settings={"log.dirs": f"{ALL},{{b1}}/l3"}),
    Trial(name="dir-is-a-link", hurt=linked("l7", "d7"), **AS_ROOT,
          settings={"log.dirs": f"{WITHOUT_LAST},{{b1}}/l7"}),
    Trial(name="dir-is-a-loop", hurt=linked("l7", "./l7"), **AS_ROOT,
          settings={"log.dirs": f"{WITHOUT_LAST},{{b1}}/l7"}),
    Trial(name="dir-is-a-broken-link", hurt=linked("l7", "nowhere"), **AS_ROOT,
          settings={"log.dirs": f"{WITHOUT_LAST},{{b1}}/l7"}),
    Trial(name="loop-in-dir", hurt=linked("d3/x-0", "./x-0"), **AS_ROOT),
    Trial(name="broken-link-in-dir", hurt=linked("d3/x-0", "./nowhere"), **AS_ROOT),
    Trial(name="link-to-itself-in-dir", hurt=linked("d3/x-0", "d3"), **AS_ROOT),
    Trial(name="foreign-link-in-dir", hurt=linked("d3/backup", "d4"), **AS_ROOT),
    Trial(name="partition-is-a-link", hurt=moved_and_linked, **AS_ROOT),
    Trial(name="partition-links-to-another", hurt=linked_to_another, **AS_ROOT),
    Trial(name="partition-twice-by-link", hurt=twice_by_link, **AS_ROOT),
    Trial(name="log-is-a-loop", hurt=file_loop, **AS_ROOT),
    Trial(name="dir-dropped", hurt=dropped, **AS_ROOT, settings={"log.dirs": WITHOUT_LAST}),
    Trial(name="dropped-but-two", hurt=dropped, **AS_ROOT,
          settings={"log.dirs": "{b1}/d0,{b1}/d1"}),
    Trial(name="dropped-but-one", hurt=dropped, **AS_ROOT, settings={"log.dirs": "{b1}/d0"}),
    Trial(name="dir-removed", hurt=lambda b1: shutil.rmtree(b1 / "d7"), **AS_ROOT,
          settings={"log.dirs": WITHOUT_LAST}),
    Trial(name="dir-missing", hurt=lambda b1: shutil.rmtree(b1 / "d7"), **AS_ROOT),
    Trial(name="new-dir-missing", hurt=dropped, **AS_ROOT, settings={"log.dirs": f"{ALL},{{b1}}/d8"}),
    Trial(name="new-dir-empty", hurt=lambda b1: (b1 / "d8").mkdir(), **AS_ROOT,
          settings={"log.dirs": f"{ALL},{{b1}}/d8"}),
    Trial(name="quorum-state-empty", hurt=emptied("quorum-state"), **AS_ROOT, kraft=True),
    Trial(name="metadata-dir-elsewhere", hurt=dropped, **AS_ROOT, kraft=True,
          settings={"metadata.log.dir": "{b1}/d3"}),
    Trial(name="metadata-dir-dropped", hurt=dropped, **AS_ROOT, kraft=True,
          settings={"log.dirs": ALL.removeprefix("{b1}/d0,")}),
]  # fmt: skip
