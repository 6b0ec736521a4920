"""What replicas do not tell of themselves: what lies beside them, is gone, or was on brokers not here.

The one place for whoever compares, merges or reads replicas, alone or by Spark: none of them gives an
all-clear that another one would not.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from segmend.cluster.cluster_dirs import FleetDirs
from segmend.cluster.elsewhere import NotRead, beyond, not_here
from segmend.cluster.gathered import PassedOver, passed_over, running_on
from segmend.cluster.vanished import Wants, vanished
from segmend.frozen import replace
from segmend.logdir.partition_dir import Key
from segmend.merge.compared import Compared


class Surroundings:
    """Of log dirs, of the partitions that are wanted; begun before anything is read.

    Where not `whole` dirs are read, but partition directories in them, nothing is
    said of what is beside these.
    """

    def __init__(self, fleet: FleetDirs, wants: Wants, *, whole: bool = True) -> None:
        self._fleet, self._wants = fleet, wants
        self._whole = fleet if whole else FleetDirs()
        self._running = running_on(fleet)
        self._beyond = beyond(fleet)

    def elsewhere(self, key: Key) -> NotRead:
        """What may have been beyond the replicas of a partition."""
        return self._beyond(key)

    def beyond(self, partition: Compared) -> Compared:
        """It, with what may have been beyond its replicas among the doubts."""
        merged = partition.merged
        if merged is None:
            return partition
        holders = {replica.dir: replica.broker for replica in partition.replicas}
        key = partition.topic, partition.partition
        more = self.elsewhere(key).beyond(holders, merged.next_offset)
        doubts, assumed = (*merged.doubts, *more.doubts), (*merged.assumed, *more.assumed)
        return replace(partition, merged=replace(merged, doubts=doubts, assumed=assumed))

    def gone(self) -> dict[Key, str]:
        """The partitions that none of the dirs has, and how that is known, in words."""
        return {key: words for key, words in vanished(self._whole).items() if self._wants(key)}

    def passed_over(self) -> PassedOver:
        """What is not looked at; asked once all is read."""
        running = running_on(self._fleet, self._running)
        return replace(
            passed_over(self._whole, self._wants), running=running,
            not_here=not_here(self._fleet, self._wants), killed=tuple(self._killed(running)),
        )  # fmt: skip

    def _killed(self, running: Collection[str]) -> Iterator[str]:
        """The dirs with what is wanted of which nothing says that their broker was stopped."""
        for log_dir in self._fleet.dirs:
            wanted = any(self._wants(each.key) for each in log_dir.current)
            if wanted and not log_dir.is_clean and log_dir.path not in running:
                yield log_dir.path

    def unsure(self) -> Iterator[str]:
        """Of what is passed over that which takes an all-clear away, in words."""
        beside = passed_over(self._whole, self._wants)
        for paths, words in (
            (beside.strays, "may have records that no replica here has; it is not read"),
            (beside.broken, "a link to nothing (a disk that is not mounted?)"),
            (beside.shared, "nothing tells whose records it has, so it is not read"),
        ):
            yield from (f"{path}: {words}" for path in paths)
