"""Real brokers make all indexes of a clean directory anew; so do the recipes; the bytes are the same.

Every `.index`, `.timeindex` and `.txnindex` is removed, with the clean marker and the recovery
points (1.1.0 alone takes a missing index for an empty one): a start then scans each segment
(`LogSegment.recover`), and the clean stop that follows leaves the indexes trimmed.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.copies import copy_tree
from tests.golden.shared import golden
from tests.lab.base import QUIET, base
from tests.lab.broker import Broker
from tests.lab.releases import release as lab_release
from tests.lab.trial import copy_base
from tests.lab.zookeeper import ZooKeeper
from tests.seeds import some_of

from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release
from segmend.surgery import recipes

INTERVAL = 512
RECIPES = {".index": "offset-index", ".timeindex": "time-index", ".txnindex": "transaction-index"}
SETTINGS = {**QUIET, "log.index.interval.bytes": str(INTERVAL), "log.cleaner.enable": "false"}


def from_golden(version: str, root: Path) -> Broker:
    """A broker of ZooKeeper's time over its golden directory; a new ZooKeeper knows none of its topics."""
    copy_tree(golden(f"{version}-clean"), root)
    kind = lab_release(version)
    for identity in root.rglob("meta.properties"):
        kept = [line for line in identity.read_text().splitlines() if not line.startswith("cluster.id")]
        identity.write_text("\n".join([*kept, ""]))
    settings = {**SETTINGS, "log.retention.ms": "2147483647"} if kind.number < (0, 9) else SETTINGS
    return Broker(kind, root / "b1", settings=settings, zookeeper=ZooKeeper.wanted(kind, root))


def from_lab(version: str, root: Path) -> Broker:
    """A KRaft broker over its base of the fault lab."""
    found = base(version, "clean", "few")
    copy_base(found, root)
    broker = found.start_copy(root)
    broker.settings = SETTINGS
    return broker


def expected(dirs: list[Path], release: Release) -> Iterator[tuple[Path, bytes]]:
    """What the recipes give, from the logs alone; nothing where a broker has no such file."""
    for log_dir in (LogDir.open(str(path)) for path in dirs):
        for partition in log_dir.partitions:
            for base_offset in partition.base_offsets if partition.kind == "current" else ():
                for suffix, recipe in RECIPES.items():
                    if release < (0, 11) and suffix == ".txnindex":
                        continue
                    arguments = {"base_offset": base_offset, "interval": INTERVAL, "snapshot": None}
                    made = recipes.build(recipe, log_dir, partition.name, arguments, release)
                    if made or suffix != ".txnindex":
                        yield Path(partition.path) / f"{base_offset:020d}{suffix}", made


@pytest.mark.broker
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("version", "start"),
    some_of(
        [
            ("0.8.2.2", from_golden),
            ("0.10.2.2", from_golden),
            ("1.1.0", from_golden),
            ("2.8.2", from_golden),
            ("4.3.1", from_lab),
            ("3.9.2", from_lab),
        ],
        2,
    ),
)
def test_a_broker_makes_the_same_indexes(
    version: str, start: Callable[[str, Path], Broker], tmp_path: Path
) -> None:
    broker = start(version, tmp_path / "root")
    release = Release.parse(version)
    mine = dict(expected(broker.dirs, release))
    if release < (0, 10, 1):
        mine = {path: data for path, data in mine.items() if path.suffix != ".timeindex"}
    for log_dir in broker.dirs:
        (log_dir / ".kafka_cleanshutdown").unlink(missing_ok=True)
        (log_dir / "recovery-point-offset-checkpoint").unlink()
        for path in [*log_dir.glob("*-[0-9]*/*index")]:
            path.unlink()
    with broker:
        broker.start()
        broker.stop()
    differ = {
        path.name + " of " + path.parent.name: (
            path.read_bytes().hex() if path.exists() else None,
            data.hex(),
        )
        for path, data in mine.items()
        if not path.exists() or path.read_bytes() != data
    }
    assert differ == {}
    assert len(mine) > 20
