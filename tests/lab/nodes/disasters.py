"""What is done to whole nodes: one row a disaster, each a function of the node's log dirs."""

import os
import re
import shutil
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.hands import before
from tests.faults.on_disk import flip, keep_lines, rewrite

METADATA = "__cluster_metadata-0"
FOREIGN_ID = "lAb5pZ9vTWWx4JmKu0o3Ng"
STRAY = "0123456789abcdef0123456789abcdef-stray"
OFFSETS = "__consumer_offsets-0"
Act = Callable[["Node"], object]


@dataclass(frozen=True)
class Node:
    """The log dirs of a node, `d0` (with the metadata) and `d1`, that are hurt."""

    root: Path

    @property
    def dirs(self) -> tuple[Path, Path]:
        """Both."""
        return self.root / "d0", self.root / "d1"

    @property
    def metadata(self) -> Path:
        """The directory of the metadata log."""
        return self.dirs[0] / METADATA

    @property
    def log(self) -> Path:
        """The only segment of the metadata log."""
        return sorted(self.metadata.glob("*.log"))[-1]

    @property
    def snapshots(self) -> list[Path]:
        """Oldest first."""
        return sorted(self.metadata.glob("*.checkpoint"))

    @property
    def newest(self) -> Path:
        """The newest snapshot."""
        return self.snapshots[-1]

    @property
    def end(self) -> int:
        """The end offset of the newest snapshot."""
        return int(self.newest.name.partition("-")[0])

    def partition(self, name: str) -> Path:
        """The directory of a partition, in whichever log dir it lies."""
        return next(path / name for path in self.dirs if (path / name).is_dir())

    def batches(self) -> list[tuple[int, int, int]]:
        """(position, base offset, next offset) of each batch of the metadata log."""
        data, at, found = self.log.read_bytes(), 0, []
        while at + 61 <= len(data) and (size := struct.unpack_from(">i", data, at + 8)[0]) > 0:
            base, delta = struct.unpack_from(">q", data, at)[0], struct.unpack_from(">i", data, at + 23)[0]
            found.append((at, base, base + delta + 1))
            at += 12 + size
        return found

    def position_of(self, offset: int) -> int:
        """Where the batch with that offset begins."""
        return next(at for at, _, behind in self.batches() if behind > offset)

    def cut(self, size: int) -> None:
        """Cut the metadata log to so many bytes."""
        os.truncate(self.log, size)

    def mention(self, word: bytes) -> int:
        """Where the first batch of the metadata log begins that has a word in it."""
        data = self.log.read_bytes()
        place = data.index(word)
        return max(at for at, _, _ in self.batches() if at <= place)


@dataclass(frozen=True)
class Disaster:
    """`given` are the log dirs that the node is started with; `core` ones are tried on every release."""

    name: str
    hurt: Act
    given: tuple[int, ...] = (0, 1)
    core: bool = False
    settings: dict[str, str] = field(default_factory=dict)


def do(*acts: Act) -> Act:
    """One after the other."""

    def hurt(node: Node) -> None:
        for act in acts:
            act(node)

    return hurt


def without_snapshots(node: Node) -> None:
    """No snapshot is left."""
    for path in node.snapshots:
        path.unlink()


def without_metadata(node: Node) -> None:
    """The directory is gone."""
    shutil.rmtree(node.metadata)


def no_log(node: Node) -> None:
    """The only segment's log is gone."""
    node.log.unlink()


def empty_log(node: Node) -> None:
    """It is empty."""
    node.log.write_bytes(b"")


def halved(node: Node) -> None:
    """The second half of its batches is gone."""
    node.cut(node.batches()[len(node.batches()) // 2][0])


def before_late(node: Node) -> None:
    """It ends before the topic `late` was made."""
    node.cut(node.mention(b"\x05late"))


def first_batch(node: Node) -> None:
    """Its first two batches are left."""
    node.cut(node.batches()[2][0])


def flip_batch(share: float) -> Act:
    """A bit of the batch at that share of the metadata log."""

    def hurt(node: Node) -> None:
        batches = node.batches()
        flip(node.log, batches[int(len(batches) * share)][0] + 64, 4)

    return hurt


def zeroed(path: Path) -> None:
    """As long as before, of nothing but zeros."""
    path.write_bytes(bytes(path.stat().st_size))


def garbage(path: Path) -> None:
    """As long as before, of nothing that means anything."""
    path.write_bytes((b"\xa7\x13garbage" * (path.stat().st_size // 8 + 1))[: path.stat().st_size])


def at_snapshot(node: Node) -> None:
    """The log ends where its newest snapshot does."""
    node.cut(node.position_of(node.end))


def behind_snapshot(node: Node) -> None:
    """The log ends some batches before its newest snapshot does."""
    node.cut(node.position_of(node.end - 4))


def only_snapshot(node: Node) -> None:
    """Nothing but the newest snapshot is left."""
    for path in node.metadata.iterdir():
        if path != node.newest:
            path.unlink()


def only_the_log(node: Node) -> None:
    """Nothing but the log is left."""
    for path in node.metadata.iterdir():
        if path != node.log:
            path.unlink()


def empty_segment(ahead: int) -> Act:
    """One more segment, empty, so many offsets behind the end of the log."""
    return lambda node: (node.metadata / f"{node.batches()[-1][2] + ahead:020d}.log").write_bytes(b"")


def is_a_file(node: Node) -> None:
    """A file where the directory was."""
    shutil.rmtree(node.metadata)
    node.metadata.write_text("")


def inside(name: str, content: str | None) -> Act:
    """A file of the metadata log's directory with that content, or gone."""

    def hurt(node: Node) -> None:
        (node.metadata / name).unlink(missing_ok=True)
        if content is not None:
            (node.metadata / name).write_text(content)

    return hurt


def replaced(name: str, pattern: str, by: str) -> Act:
    """Some words of a file of that directory changed."""

    def hurt(node: Node) -> None:
        path = node.metadata / name
        text = path.read_text()
        changed = re.sub(pattern, by, text)
        assert changed != text, text
        path.write_text(changed)

    return hurt


def newest(change: Callable[[bytes], bytes]) -> Act:
    """The newest snapshot rewritten."""
    return lambda node: rewrite(node.newest, change)


def oldest(change: Callable[[bytes], bytes]) -> Act:
    """The oldest snapshot rewritten."""
    return lambda node: rewrite(node.snapshots[0], change)


def flipped(share: float) -> Callable[[bytes], bytes]:
    """One bit at that share of the bytes."""

    def change(data: bytes) -> bytes:
        at = min(int(len(data) * share), len(data) - 1)
        return data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :]

    return change


def renamed_newest(name: Callable[[Node], str]) -> Act:
    """The newest snapshot under another name."""
    return lambda node: node.newest.rename(node.metadata / name(node))


def copied_newest(name: Callable[[Node], str]) -> Act:
    """The newest snapshot once more, under another name."""
    return lambda node: shutil.copyfile(node.newest, node.metadata / name(node))


def bootstrap(change: Callable[[bytes], bytes] | None) -> Act:
    """bootstrap.checkpoint rewritten, or gone."""

    def hurt(node: Node) -> None:
        path = node.dirs[0] / "bootstrap.checkpoint"
        if change is None:
            path.unlink()
        else:
            rewrite(path, change)

    return hurt


def id_of(node: Node, name: str) -> str:
    """The topic id in a partition's file."""
    text = (node.partition(name) / "partition.metadata").read_text()
    found = re.search(r"topic_id: (\S+)", text)
    assert found
    return found.group(1)


def topic_id(name: str, of: str | None) -> Act:
    """The topic id of another partition, or one that nobody has, in a partition's file."""

    def hurt(node: Node) -> None:
        wanted = FOREIGN_ID if of is None else id_of(node, of)
        path = node.partition(name) / "partition.metadata"
        path.write_text(f"version: 0\ntopic_id: {wanted}\n")

    return hurt


def swapped(one: str, other: str) -> Act:
    """Two directories under each other's name; each stays in its log dir."""

    def hurt(node: Node) -> None:
        first, second = node.partition(one), node.partition(other)
        first.rename(aside := first.with_name("aside"))
        second.rename(second.with_name(one))
        aside.rename(aside.with_name(other))

    return hurt


def copied(one: str, name: str, into: int | None = None) -> Act:
    """A directory once more, under another name."""

    def hurt(node: Node) -> None:
        source = node.partition(one)
        shutil.copytree(source, (source.parent if into is None else node.dirs[into]) / name)

    return hurt


def moved(one: str, name: str) -> Act:
    """A directory under another name."""
    return lambda node: node.partition(one).rename(node.partition(one).with_name(name))


def gone(*names: str) -> Act:
    """`rm -rf` of partitions; the lines of the checkpoints stay."""

    def hurt(node: Node) -> None:
        for name in names:
            shutil.rmtree(node.partition(name))

    return hurt


def all_gone(number: int) -> Act:
    """Every partition of one log dir."""

    def hurt(node: Node) -> None:
        for path in node.dirs[number].iterdir():
            if path.is_dir() and path != node.metadata:
                shutil.rmtree(path)

    return hurt


def unlisted(name: str) -> Act:
    """Its lines in the checkpoints are gone as well."""
    topic, _, number = name.rpartition("-")

    def hurt(node: Node) -> None:
        for path in node.partition(name).parent.glob("*-checkpoint"):
            keep_lines(path, lambda row: not row.startswith(f"{topic} {number} "))

    return hurt


def put(number: int, name: str, content: str) -> Act:
    """A file of a log dir."""
    return lambda node: (node.dirs[number] / name).write_text(content)


def dir_is_a_file(node: Node) -> None:
    """A file where the second log dir was."""
    shutil.rmtree(node.dirs[1])
    node.dirs[1].write_text("")


def malformed_id(number: int) -> Act:
    """A partition.metadata that cannot be parsed, which takes the dir offline while it is loaded."""

    def hurt(node: Node) -> None:
        found = sorted(path for path in node.dirs[number].glob("*-[0-9]") if path != node.metadata)
        (found[0] / "partition.metadata").write_text("version: 0\nnonsense\n")

    return hurt


QUORUM = (
    '{"clusterId":"","leaderId":1,"leaderEpoch":%d,"votedId":-1,"appliedOffset":0,'
    '"currentVoters":[{"voterId":%d}],"data_version":0}'
)
META_BROKEN = "version=9\nnode.id=1\n"


def core(name: str, hurt: Act, given: tuple[int, ...] = (0, 1), **settings: str) -> Disaster:
    """One for every release."""
    return Disaster(name, hurt, given, core=True, settings=settings)


DISASTERS = [
    core("nothing", lambda node: None),
    # The metadata log is lost, whole or in part.
    core("metadata-gone", without_metadata),
    core("metadata-log-gone", no_log),
    core("metadata-log-empty", empty_log),
    core("metadata-log-and-snapshots-gone", do(no_log, without_snapshots)),
    core("metadata-log-empty-no-snapshots", do(empty_log, without_snapshots)),
    core("metadata-cut-before-late", before_late),
    core("metadata-cut-half-no-snapshots", do(without_snapshots, halved)),
    core("metadata-dir-not-given", lambda node: None, (1,)),
    core("data-dir-not-given", lambda node: None, (0,)),
    Disaster("metadata-cut-half", halved),
    Disaster("metadata-first-batches-no-snapshots", do(without_snapshots, first_batch)),
    Disaster("metadata-first-batches", first_batch),
    Disaster("metadata-no-snapshots", without_snapshots),
    Disaster("metadata-flip-first-no-snapshots", do(without_snapshots, flip_batch(0))),
    Disaster("metadata-flip-middle-no-snapshots", do(without_snapshots, flip_batch(0.5))),
    Disaster("metadata-flip-first", flip_batch(0)),
    Disaster("metadata-flip-late", flip_batch(0.8)),
    Disaster("metadata-log-zeroed", lambda node: zeroed(node.log)),
    Disaster("metadata-log-zeroed-no-snapshots", do(without_snapshots, lambda node: zeroed(node.log))),
    Disaster("metadata-log-garbage", lambda node: garbage(node.log)),
    Disaster("metadata-log-garbage-no-snapshots", do(without_snapshots, lambda node: garbage(node.log))),
    core("metadata-cut-at-snapshot", at_snapshot),
    Disaster("metadata-cut-behind-snapshot", behind_snapshot),
    Disaster("metadata-only-snapshot", only_snapshot),
    Disaster("metadata-only-log", only_the_log),
    core("metadata-empty-segment-ahead", empty_segment(100)),
    Disaster("metadata-empty-segment-at-end", empty_segment(0)),
    core("metadata-is-a-file", is_a_file),
    Disaster("metadata-gone-and-bootstrap", do(without_metadata, bootstrap(None))),
    Disaster("metadata-gone-bootstrap-empty", do(without_metadata, bootstrap(lambda _: b""))),
    # Wrong topic ids.
    core("id-of-another-topic", topic_id("a-0", "b-0")),
    core("id-unknown", topic_id("a-0", None)),
    core("id-of-another-topic-offsets", topic_id(OFFSETS, "a-0")),
    core("swapped-topics", swapped("a-0", "b-0")),
    Disaster("swapped-partitions", swapped("a-0", "a-1")),
    Disaster("swapped-topics-other-number", swapped("a-2", "b-0")),
    Disaster("id-of-another-two", do(topic_id("a-0", "b-0"), topic_id("a-1", "b-0"))),
    Disaster("id-of-another-all", do(*(topic_id(f"a-{n}", "b-0") for n in range(3)))),
    Disaster("id-of-another-where-no-such-number", topic_id("a-2", "b-0")),
    core("copied-unknown-name", copied("a-0", "zzz-0")),
    Disaster("copied-other-number", copied("a-0", "a-7")),
    Disaster("copied-over-another", do(gone("b-0"), copied("a-0", "b-0"))),
    Disaster("renamed-topic", moved("a-0", "zzz-0")),
    Disaster("copied-into-other-dir", copied("a-0", "b-9", 1)),
    # A partition that vanished.
    core("vanished", gone("a-0")),
    core("vanished-one-of-each-dir", gone("a-0", "a-1", "a-2")),
    Disaster("vanished-and-its-lines", do(unlisted("a-0"), gone("a-0"))),
    Disaster("vanished-all-of-second-dir", all_gone(1)),
    Disaster("vanished-all-of-first-dir", all_gone(0)),
    Disaster("vanished-offsets", gone(OFFSETS)),
    core("renamed-stray", moved("a-0", f"a-0.{STRAY}")),
    Disaster("renamed-delete", moved("a-0", f"a-0.{STRAY.replace('stray', 'delete')}")),
    # A log dir that fails.
    core("offline-meta-second", put(1, "meta.properties", META_BROKEN)),
    core("offline-meta-first", put(0, "meta.properties", META_BROKEN)),
    core("offline-checkpoint-second", put(1, "recovery-point-offset-checkpoint", "9\n0\n")),
    core("offline-checkpoint-first", put(0, "recovery-point-offset-checkpoint", "9\n0\n")),
    core("offline-id-second", malformed_id(1)),
    core("offline-id-first", malformed_id(0)),
    Disaster("offline-is-a-file", dir_is_a_file),
    # Snapshots and the small files of the metadata log.
    core("snapshot-empty", newest(lambda _: b"")),
    core("snapshot-cut", newest(lambda data: data[: len(data) // 2])),
    Disaster("snapshot-cut-footer", newest(before(-1))),
    core("snapshot-flip", newest(flipped(0.5))),
    Disaster("snapshot-flip-header", newest(flipped(0.0))),
    Disaster("snapshot-flip-footer", newest(flipped(0.999))),
    Disaster("snapshot-garbage", lambda node: garbage(node.newest)),
    Disaster("snapshot-zeroed", lambda node: zeroed(node.newest)),
    Disaster("snapshot-newest-gone", lambda node: node.newest.unlink()),
    core("snapshot-beyond-end", copied_newest(lambda node: f"{node.end + 5000:020d}-{9:010d}.checkpoint")),
    Disaster("snapshot-later-epoch", copied_newest(lambda node: f"{node.end:020d}-{9:010d}.checkpoint")),
    Disaster("snapshot-odd-name", copied_newest(lambda node: "mine.checkpoint")),
    Disaster("snapshot-short-name", copied_newest(lambda node: f"{node.end}.checkpoint")),
    Disaster("snapshot-one-number", copied_newest(lambda node: f"{node.end:020d}.checkpoint")),
    Disaster("snapshot-unpadded", copied_newest(lambda node: f"{node.end + 1}-{1}.checkpoint")),
    Disaster("snapshot-backup", copied_newest(lambda node: f"{node.newest.name}.bak")),
    Disaster("snapshot-wrong-offset", renamed_newest(lambda n: f"{n.end + 3:020d}-{1:010d}.checkpoint")),
    Disaster("snapshot-older-empty", oldest(lambda _: b"")),
    Disaster("snapshot-older-flip", oldest(flipped(0.5))),
    core("bootstrap-empty", bootstrap(lambda _: b"")),
    core("bootstrap-garbage", bootstrap(lambda data: b"garbage" * 30)),
    Disaster("bootstrap-zeroed", bootstrap(lambda data: bytes(len(data)))),
    Disaster("bootstrap-cut", bootstrap(lambda data: data[: len(data) // 2])),
    Disaster("bootstrap-flip", bootstrap(flipped(0.5))),
    core("bootstrap-gone", bootstrap(None)),
    core("metadata-id-foreign", inside("partition.metadata", f"version: 0\ntopic_id: {FOREIGN_ID}\n")),
    Disaster("metadata-id-gone", inside("partition.metadata", None)),
    Disaster("metadata-id-empty", inside("partition.metadata", "")),
    Disaster("metadata-id-garbage", inside("partition.metadata", "garbage\n")),
    Disaster("metadata-epochs-empty", inside("leader-epoch-checkpoint", "")),
    Disaster("metadata-epochs-garbage", inside("leader-epoch-checkpoint", "0\nx\n")),
    Disaster("metadata-epochs-gone", inside("leader-epoch-checkpoint", None)),
    core("quorum-empty", inside("quorum-state", "")),
    core("quorum-garbage", inside("quorum-state", "{")),
    core("quorum-gone", inside("quorum-state", None)),
    Disaster("quorum-of-another", inside("quorum-state", QUORUM % (1, 7))),
    Disaster("quorum-version-9", replaced("quorum-state", r'"data_version":\d', '"data_version":9')),
    Disaster("quorum-epoch-behind", replaced("quorum-state", r'"leaderEpoch":\d+', '"leaderEpoch":0')),
    Disaster("quorum-epoch-ahead", replaced("quorum-state", r'"leaderEpoch":\d+', '"leaderEpoch":500')),
    Disaster("quorum-other-leader", replaced("quorum-state", r'"leaderId":-?\d+', '"leaderId":7')),
]  # fmt: skip
