"""Brokers that belong together: a lone one, or several with a quorum or a ZooKeeper between them."""

import fcntl
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from segmend.formats.offset_checkpoint import HIGH_WATERMARK
from tests.lab.broker import Broker, Seat, new_cluster_id
from tests.lab.jars import archive
from tests.lab.process import SMALL_JVM
from tests.lab.releases import Release, release
from tests.lab.zookeeper import ZooKeeper
from tests.waiting import until


class Cluster:
    """`brokers` brokers of one release under `root`, each in `root/b<id>`; use it as a context manager.

    `zookeeper`: with one also where the release could do without.
    Leaving the `with` block kills what still runs; stop it before where a clean stop is wanted.
    """

    def __init__(
        self,
        version: str,
        root: Path,
        brokers: int = 1,
        *,
        log_dirs: int = 2,
        settings: dict[str, str] | None = None,
        zookeeper: bool = False,
    ) -> None:
        self.release: Release = release(version)
        if zookeeper:
            self.release = replace(self.release, mode="zookeeper")
        self.root = root
        self.zookeeper = (
            ZooKeeper(self.release, root / "zookeeper") if self.release.mode == "zookeeper" else None
        )
        seats = [Seat(number) for number in range(1, brokers + 1)]
        cluster_id = new_cluster_id()
        self.brokers = [
            Broker(
                self.release,
                root / f"b{seat.node_id}",
                seat,
                log_dirs=log_dirs,
                settings=settings,
                zookeeper=self.zookeeper.address if self.zookeeper else None,
                peers=seats if brokers > 1 else None,
                cluster_id=cluster_id,
            )
            for seat in seats
        ]

    @property
    def bootstrap(self) -> str:
        """The address of all brokers, for clients."""
        return ",".join(broker.bootstrap for broker in self.brokers)

    def start(self, timeout: float = 120) -> None:
        """Start everything that does not run and wait until all are up."""
        if self.zookeeper and not self.zookeeper.running:
            self.zookeeper.start()
        waiting = [broker for broker in self.brokers if not broker.running]
        for broker in waiting:
            broker.configure()  # all before the first is launched, which waits for the others no longer
        for broker in waiting:
            broker.launch()
        for broker in waiting:
            broker.wait_ready(timeout)

    def stop(self) -> None:
        """Stop the brokers cleanly, then ZooKeeper.

        All brokers at once: the last of a KRaft quorum would wait long for the others.
        """
        for broker in self.brokers:
            broker.ask_to_stop()
        for broker in self.brokers:
            broker.stop(timeout=400)
        if self.zookeeper:
            self.zookeeper.stop()

    def kill(self) -> None:
        """kill -9 for all of them."""
        for broker in self.brokers:
            broker.kill()
        if self.zookeeper:
            self.zookeeper.kill()

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()


def share_classes(version: str) -> None:
    """Once for each release and Java: keep the classes that its broker loads, which is a third of a start."""
    kept = archive(release(version))
    with open(kept.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if kept.exists():
            return
        with tempfile.TemporaryDirectory(dir=kept.parent) as work, Cluster(version, Path(work)) as cluster:
            made = Path(work, "made.jsa")
            cluster.brokers[0].jvm = [*SMALL_JVM, f"-XX:ArchiveClassesAtExit={made}"]
            cluster.start()
            cluster.brokers[0].stop(180)
            made.rename(kept)


def until_marks_are_written(cluster: Cluster) -> None:
    """Until each broker that runs has written its high watermarks, which it does every 5 s."""
    begun = time.time() + 1  # a follower hears of the last one with its next fetch
    homes = [each for broker in cluster.brokers if broker.running for each in broker.dirs]

    def written() -> list[bool]:
        used = [each for each in homes if any(each.glob("[!_]*-[0-9]*"))]
        return [(each / HIGH_WATERMARK).stat().st_mtime > begun for each in used]

    until("high watermarks to be written", written, good=lambda now: now and all(now), despite=OSError)
