"""What a fault is given: one partition directory of a stopped broker, and the log dirs around it."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from tests.faults.hands import Change
from tests.faults.on_disk import lines_of, put_lines, rewrite

RECOVERY, HIGH = "recovery-point-offset-checkpoint", "replication-offset-checkpoint"
START, CLEANER = "log-start-offset-checkpoint", "cleaner-offset-checkpoint"


@dataclass(frozen=True)
class Patient:
    """`partition` is its directory, in one of `dirs`; `other` is a sound partition in another log dir."""

    dirs: tuple[Path, ...]
    partition: Path
    other: Path

    @property
    def log_dir(self) -> Path:
        """The log dir of the partition."""
        return self.partition.parent

    @property
    def topic(self) -> str:
        """The partition's topic."""
        return self.partition.name.rpartition("-")[0]

    @property
    def place(self) -> str:
        """Where the partition lies, as `d0/t-0`."""
        return f"{self.log_dir.name}/{self.partition.name}"

    @property
    def bases(self) -> list[int]:
        """The base offsets of its segments."""
        return sorted(int(path.stem) for path in self.partition.glob("*.log") if path.stem.isdigit())

    def base(self, role: str) -> int:
        """Of the segment with that role.

        `old` is below the recovery point of a killed broker, `rolled` and `active` are above it.
        """
        return self.bases[
            {"first": 0, "old": 1, "middle": -4, "rolled": -3, "last-rolled": -2, "active": -1}[role]
        ]

    def file(self, role: str, kind: str = "log") -> Path:
        """A file of the segment with that role."""
        return self.partition / f"{self.base(role):020d}.{kind}"

    @property
    def end(self) -> int:
        """The log end offset, from the last batch header of the active log."""
        data = self.file("active").read_bytes()
        at, end = 0, self.base("active")
        while at + 61 <= len(data):
            size = int.from_bytes(data[at + 8 : at + 12], "big")
            end = (
                int.from_bytes(data[at : at + 8], "big") + int.from_bytes(data[at + 23 : at + 27], "big") + 1
            )
            at += 12 + size
        return end

    @property
    def snapshots(self) -> list[Path]:
        """Producer snapshots, oldest first."""
        return sorted(self.partition.glob("*.snapshot"))

    def log(self, role: str, change: Change) -> None:
        """Rewrite a segment's log."""
        rewrite(self.file(role), change)

    def index(self, role: str, kind: str, change: Change) -> None:
        """Rewrite an index without its preallocated zeros."""
        width = {"index": 8, "timeindex": 12}[kind]
        data = self.file(role, kind).read_bytes()
        used = -(-len(data.rstrip(b"\0")) // width) * width
        self.file(role, kind).write_bytes(change(data[:used]))

    def remove(self, role: str, *kinds: str) -> None:
        """Remove files of a segment, those that are there."""
        for kind in kinds:
            self.file(role, kind).unlink(missing_ok=True)

    def write(self, name: str, content: str | bytes) -> None:
        """Write a file of the partition directory."""
        put(self.partition / name, content)

    def line(self, checkpoint: str, offset: int | None) -> None:
        """Set the partition's line of an offset checkpoint; None takes it out."""
        path, mine = self.log_dir / checkpoint, f"{self.topic} 0"
        lines = [line for line in lines_of(path) if line and line.rpartition(" ")[0] != mine]
        put_lines(path, lines if offset is None else [*lines, f"{mine} {offset}"])

    def copy(
        self, role: str, suffix: str, base: int | None = None, kinds: str = "log index timeindex"
    ) -> None:
        """Copy a segment's files to names with another suffix or base."""
        source = {kind: self.file(role, kind) for kind in kinds.split()}
        target = self.base(role) if base is None else base
        for kind, path in source.items():
            shutil.copyfile(path, self.partition / f"{target:020d}.{kind}{suffix}")

    def rename_partition(self, name: str) -> None:
        """Rename the partition directory."""
        self.partition.rename(self.log_dir / name)


def put(path: Path, content: str | bytes) -> None:
    """Write a file, with the directories above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def patient_in(root: Path, topic: str) -> Patient:
    """The topic's partition as a patient; the other one is a story topic of the other log dir."""
    dirs = (root / "b1" / "d0", root / "b1" / "d1")
    here = next(path for path in dirs if (path / f"{topic}-0").exists())
    there = next(path for path in dirs if path != here)
    other = min(there.glob("f[0-9][0-9][0-9]-0"))
    return Patient(dirs, here / f"{topic}-0", other)


def lonely_topic(root: Path) -> str:
    """The topic hurt in a start of its own: the first of the log dir without the KRaft log."""
    return sorted((root / "b1" / "d1").glob("f[0-9][0-9][0-9]-0"))[0].name[:-2]
