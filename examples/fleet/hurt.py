"""Hurt a copy of the healthy fleet: `python examples/fleet/hurt.py ROOT` (ROOT holds b1, b2, b3).

Each function is one damage as the field knows it, named by the function; targets are found by rule,
so that the script works on every remake. Modification times stay, as with damage by hardware.
Standard library only.
"""

import json
import os
import shutil
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

Damage = Callable[[Path], tuple[Path, str]]
DAMAGES: list[Damage] = []


def damage(act: Damage) -> Damage:
    """Enter a damage into the list, in the order of the file."""
    DAMAGES.append(act)
    return act


def crc32c(data: bytes) -> int:
    """CRC-32C, bit by bit: only a few hundred bytes are ever signed here."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def batches(data: bytes | bytearray) -> Iterator[tuple[int, int]]:
    """Position and size of each batch."""
    position = 0
    while position + 61 <= len(data):
        size = struct.unpack_from(">i", data, position + 8)[0] + 12
        yield position, size
        position += size


def replicas(broker: Path, topic: str) -> list[Path]:
    """The broker's directories of a topic, by name."""
    return sorted(broker.glob(f"d*/{topic}-*"), key=lambda path: path.name)


def holders(root: Path, name: str) -> list[Path]:
    """All directories of a partition, by broker."""
    return sorted(root.glob(f"b*/d*/{name}"))


def logs(partition: Path) -> list[Path]:
    """Its segments, oldest first."""
    return sorted(partition.glob("*.log"))


def rewrite(path: Path, data: bytes) -> None:
    """Write a file's bytes, keeping its times."""
    before = path.stat()
    path.write_bytes(data)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def segment_files(log: Path) -> list[Path]:
    """A segment with all its companions."""
    return sorted(log.parent.glob(f"{log.stem}.*"))


@damage
def bit_flip(root: Path) -> tuple[Path, str]:
    """A disk returned one wrong bit."""
    log = logs(replicas(root / "b2", "orders")[1])[1]
    data = bytearray(log.read_bytes())
    position, size = list(batches(data))[3]
    data[position + 61 + (size - 61) // 2] ^= 0x10
    rewrite(log, bytes(data))
    return log, f"one bit flipped in the batch at position {position}"


@damage
def torn_tail(root: Path) -> tuple[Path, str]:
    """The power went while the last batch was written."""
    log = logs(replicas(root / "b3", "clicks")[0])[-1]
    data = log.read_bytes()
    rewrite(log, data[:-37])
    return log, "the last 37 bytes of the last batch never reached the disk"


@damage
def zeroed_tail(root: Path) -> tuple[Path, str]:
    """The file's new length reached the disk, its bytes did not."""
    log = logs(replicas(root / "b3", "customers")[1])[-1]
    rewrite(log, log.read_bytes() + bytes(4096))
    return log, "4096 zero bytes behind the last batch"


@damage
def shifted_index(root: Path) -> tuple[Path, str]:
    """An index whose positions are no batch boundaries."""
    for partition in [*replicas(root / "b1", "orders"), *replicas(root / "b1", "clicks")]:
        index = logs(partition)[-1].with_suffix(".index")
        data = index.read_bytes()
        if any(data):
            entries = [struct.unpack_from(">ii", data, at) for at in range(0, len(data), 8)]
            rewrite(
                index, b"".join(struct.pack(">ii", offset, position + 13) for offset, position in entries)
            )
            return index, "every position of the active segment's index is 13 bytes too high"
    raise LookupError("no active index with entries")


@damage
def missing_timeindex(root: Path) -> tuple[Path, str]:
    """Somebody made room by deleting the wrong files."""
    index = logs(replicas(root / "b1", "shipments")[0])[0].with_suffix(".timeindex")
    index.unlink()
    return index, "deleted"


@damage
def wrong_count(root: Path) -> tuple[Path, str]:
    """A checkpoint edited by hand: a line was added, the count was not... or the other way round."""
    checkpoint = root / "b2" / "d1" / "recovery-point-offset-checkpoint"
    lines = checkpoint.read_text().splitlines()
    count = int(lines[1])
    lines[1] = str(count + 1)
    rewrite(checkpoint, ("\n".join(lines) + "\n").encode())
    return checkpoint, f"says {count + 1} entries, has {count}"


@damage
def lost_topic_id(root: Path) -> tuple[Path, str]:
    """A backup that left out the file it did not know."""
    metadata = replicas(root / "b2", "shipments")[2] / "partition.metadata"
    metadata.unlink()
    return metadata, "deleted"


@damage
def lost_txnindex(root: Path) -> tuple[Path, str]:
    """Without it, read_committed consumers get aborted payments."""
    for partition in replicas(root / "b1", "payments"):
        for index in sorted(partition.glob("*.txnindex")):
            if index.stat().st_size and index.with_suffix(".log") != logs(partition)[-1]:
                index.unlink()
                return index, "deleted, though its segment holds an aborted transaction"
    raise LookupError("no rolled segment with aborted transactions")


@damage
def diverged(root: Path) -> tuple[Path, str]:
    """An unclean election: the same offsets, other records, every checksum right."""
    log = logs(holders(root, "inventory.eu-west-0")[-1])[-1]
    data = bytearray(log.read_bytes())
    for position, size in list(batches(data))[-2:]:
        body = bytes(data[position + 61 : position + size]).replace(b'"currency":"EUR"', b'"currency":"CHF"')
        data[position + 61 : position + size] = body
        signed = crc32c(bytes(data[position + 21 : position + size]))
        struct.pack_into(">I", data, position + 17, signed)
    rewrite(log, bytes(data))
    return log, "the last two batches hold other records than the other replica's"


@damage
def behind(root: Path) -> tuple[Path, str]:
    """A replica whose newest segments were lost: it ends early, without any damage in what is left."""
    partition = replicas(root / "b3", "orders")[5]
    lost = logs(partition)[-2:]
    for log in lost:
        for path in segment_files(log):
            path.unlink()
    for snapshot in partition.glob("*.snapshot"):
        if int(snapshot.stem) > int(lost[0].stem):
            snapshot.unlink()
    return partition, f"the last two segments are gone, the log ends before {int(lost[0].stem)}"


@damage
def hole(root: Path) -> tuple[Path, str]:
    """A segment in the middle is gone."""
    partition = max(replicas(root / "b1", "clicks"), key=lambda one: len(logs(one)))
    gone = logs(partition)[2]
    for path in segment_files(gone):
        path.unlink()
    return gone, "this segment and its indexes are deleted"


@damage
def orphan_index(root: Path) -> tuple[Path, str]:
    """An index whose segment is nowhere."""
    partition = replicas(root / "b1", "app-logs") or replicas(root / "b2", "app-logs")
    source = logs(partition[0])[1].with_suffix(".index")
    target = source.with_name("00000000000000000001.index")
    shutil.copy2(source, target)
    return target, "an index without a .log"


@damage
def foreign_directory(root: Path) -> tuple[Path, str]:
    """log.dirs is a mount point, and mkfs left its lost+found there."""
    place = root / "b2" / "d0" / "lost+found"
    place.mkdir()
    return place, "a directory that is no partition"


@damage
def missing_partition(root: Path) -> tuple[Path, str]:
    """A whole replica is gone."""
    partition = replicas(root / "b3", "orders")[2]
    shutil.rmtree(partition)
    return partition, "the directory is deleted, the other brokers have theirs"


@damage
def lost_epochs(root: Path) -> tuple[Path, str]:
    """An emptied leader epoch file: the follower would truncate by high watermark."""
    checkpoint = replicas(root / "b2", "dead-letters")[0] / "leader-epoch-checkpoint"
    rewrite(checkpoint, b"")
    return checkpoint, "emptied, though the batches have epochs"


def hurt(root: Path) -> list[dict[str, str]]:
    """Do all damages and tell what was done; the list also goes to damages.json beside this script."""
    done = []
    for act in DAMAGES:
        path, what = act(root)
        story = (act.__doc__ or "").strip()
        row = {
            "damage": act.__name__.replace("_", "-"),
            "path": str(path.relative_to(root)),
            "what": what,
            "story": story,
        }
        done.append(row)
    Path(__file__).with_name("damages.json").write_text(json.dumps(done, indent=1) + "\n")
    return done


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: hurt.py ROOT")
    for row in hurt(Path(sys.argv[1])):
        print(f"{row['damage']:18} {row['path']}: {row['what']}")
