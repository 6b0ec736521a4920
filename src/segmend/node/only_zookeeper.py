"""What only ZooKeeper knows of log dirs that show that it matters: what was, or is to be, in a place."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from segmend.formats.names import parse_dir_name
from segmend.logdir.beside import left_out
from segmend.node.broker_dirs import BrokerDirs

LONE_FUTURE: Final = (
    "{0}: whether ZooKeeper has {1} here; the broker makes it anew then, and empties this one; the dir goes "
    "offline if it is made in it"
)
_LEFT_OUT: Final = (
    "{0}: a dir of this broker with {1} and perhaps more, which was not given; if log.dirs lacks it, what "
    "ZooKeeper has of it is made again, empty"
)
_EMPTIED = "which partitions were in this empty dir (ZooKeeper knows); they are made again, empty"
_NOT_SERVED = "which partitions are or were in this dir (ZooKeeper knows); no client gets them"


_TOOK_OVER: Final = (1, 3)
"""`ZkMigrationState`: MIGRATION, with ZooKeeper kept up to date, and POST_MIGRATION, without."""
_TAKEN_OVER: Final = (
    "whether anybody serves what is here: by {}/__cluster_metadata-0 KRaft controllers took over from "
    "ZooKeeper (KIP-866). Without zookeeper.metadata.migration.enable a broker is told nothing of its "
    "partitions as long as /controller in ZooKeeper is theirs"
)


def only_zookeeper_knows(
    broker: BrokerDirs, absent: Collection[str] = (), offline: Collection[str] = ()
) -> Iterator[str]:
    """What lay in dirs that are empty or not there, or in whose partitions' places something else lies.

    `absent` are paths of log dirs that are not there, `offline` those that the broker goes without.
    """
    blank = [each for each in broker.dirs if each.meta_properties.missing and not each.partitions]
    becomes = {each.path: _NOT_SERVED if each.path in offline else _EMPTIED for each in blank}
    becomes |= dict.fromkeys(absent, _EMPTIED)
    yield from (f"{path}: {words}" for path, words in becomes.items())
    for each in broker.dirs:
        for name in each.others:
            if parse_dir_name(name).kind == "current":
                yield f"{each.path}/{name}: whether ZooKeeper has a replica of this name; it is no directory"
    current = {one.key for one in broker.current}
    for one in broker.partitions:
        if one.kind == "future" and one.key not in current and one.log_dir.path not in offline:
            yield LONE_FUTURE.format(one.path, f"{one.topic}-{one.partition}")


def taken_over(broker: BrokerDirs) -> Iterator[str]:
    """That brokers with ZooKeeper alone are told nothing any more. Seen on 3.9.2: it had no partition."""
    log_dir, image = broker.metadata_dir, broker.metadata
    if log_dir is not None and image is not None and image.migration in _TOOK_OVER:
        yield _TAKEN_OVER.format(log_dir.path)


def not_given(broker: BrokerDirs, absent: Collection[str] = ()) -> Iterator[str]:
    """Dirs of the broker that lie beside these."""
    for path, name in left_out(broker.dirs):
        if path not in absent:
            yield _LEFT_OUT.format(path, name)
