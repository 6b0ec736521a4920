"""Small fleets: three brokers that hold the same partitions, byte for byte, until a test changes one."""

from collections.abc import Callable, Sequence
from pathlib import Path

from tests.checks.build_partition import PartitionWriter, story, write_log_dir

Edit = Callable[[PartitionWriter], None]
TOPICS = ("orders", "clicks")


def plain(topic: str, partition: int, *, batches: int = 40, segment_batches: int = 10) -> PartitionWriter:
    """A partition of batches of three records, several segments of them."""
    writer = PartitionWriter(topic, partition)
    for number in range(batches):
        if number and number % segment_batches == 0:
            writer.roll()
        writer.append(3)
    return writer


def write_broker(
    root: Path, broker: int, writers: Sequence[PartitionWriter], *, name: str = "data", clean: bool = True
) -> Path:
    """One log dir of a broker below `root`; its meta.properties says the broker's id."""
    folder = root / f"b{broker}" / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    write_log_dir(folder, writers, clean=clean)
    meta = folder / "meta.properties"
    meta.write_text(meta.read_text().replace("node.id=1", f"node.id={broker}"))
    return folder


def three_brokers(root: Path, *, edit: dict[int, Edit] | None = None) -> Path:
    """Brokers 1, 2 and 3 with two topics of two partitions; `edit` changes orders-0 of one of them."""
    for broker in (1, 2, 3):
        writers = [plain(topic, partition) for topic in TOPICS for partition in (0, 1)]
        if edit and broker in edit:
            edit[broker](writers[0])
        write_broker(root, broker, writers)
    return root


def mixed(root: Path) -> Path:
    """One broker whose partition has every kind of batch: idempotent, transactional, gzip, control."""
    write_broker(root, 1, [story("t", rounds=2)])
    return root


def cut(batches: int) -> Edit:
    """The last batches never arrived."""

    def edit(writer: PartitionWriter) -> None:
        segment = writer.segments[-1]
        del segment.log[segment.positions[-batches] :]
        writer.next_offset -= 3 * batches
        del segment.index[-8:]
        del segment.timeindex[-12:]

    return edit
