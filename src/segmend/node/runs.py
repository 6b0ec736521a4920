"""When nodes served with which of their log dirs, as the cluster's metadata tells it.

A node registers at each start (`RegisterBrokerRecord`), which says little: it may fail afterwards. Once it
has loaded its logs it is let in (unfenced), and all dirs that it has registered then are in use. Releases
before 3.7 registered no dirs: all of them stand under `ANY`.
"""

from __future__ import annotations

from collections.abc import Collection
from enum import Enum
from typing import Final

from segmend.frozen import dataclass, field, frozen, replace

ANY: Final = ""


class Ended(Enum):
    """How a dir went out of use."""

    UNTOLD = "the metadata ends there, or the node registered again"
    IN_ORDER = "the node said that it stops"
    FENCED = "its heartbeats had stayed out for some time"
    LEFT = "the node went on without this dir"


@frozen
class Use:
    """The last time that a dir was in use: under which broker epoch, and from when to when (ms; None: on)."""

    epoch: int
    since: int = -1
    until: int | None = None
    end: Ended = Ended.UNTOLD


@dataclass(slots=True)
class Runs:
    """What the records say of each node, in their order.

    `time` is that of the newest batch (ms, -1 without one), `before` that of the newest one under an earlier
    leader of the metadata, `epochs` the newest broker epoch of each node,
    `dirs` are those that it has now, `begun` the newest epoch with which it registered a dir, `served` the
    last time that this was in use.
    """

    time: int = -1
    before: int = -1
    epochs: dict[int, int] = field(default_factory=dict)
    dirs: dict[int, tuple[str, ...]] = field(default_factory=dict)
    begun: dict[tuple[int, str], int] = field(default_factory=dict)
    served: dict[tuple[int, str], Use] = field(default_factory=dict)

    def start(
        self, node_id: int, epoch: int, dirs: Collection[str], *, serves: bool = False, stops: bool = False
    ) -> None:
        """It registers; what went on before ended at the latest with the newest batch of then.

        A lone node leads the metadata itself: it ended with the batch before the node led it anew. In a
        snapshot that record also says whether it `serves` already, and `stops` again.
        """
        self._end(node_id, self.time, since_led=self.before)
        self.epochs[node_id] = epoch
        self._has(node_id, dirs)
        if serves:
            self._let_in(node_id, self.time)
        if stops:
            self._end(node_id, self.time, Ended.IN_ORDER)

    def change(
        self, node_id: int, dirs: Collection[str], *, serves: bool | None, stops: bool, time: int
    ) -> None:
        """It has other dirs, or serves from now on, or does not any more; empty and None: as before.

        `stops`: it says so itself.
        """
        if dirs:
            self._end(node_id, time, Ended.LEFT, keeping=dirs)
            self._has(node_id, dirs)
        if stops or serves is False:
            self._end(node_id, time, Ended.IN_ORDER if stops else Ended.FENCED)
        elif serves:
            self._let_in(node_id, time)

    def of(self, node_id: int, directory: str | None) -> tuple[Use, int] | None:
        """(its last service, the epoch of the last start with it) of a dir; None if nothing tells."""
        for key in ((node_id, directory or ANY), (node_id, ANY)):
            if key in self.served:
                service = self.served[key]
                until = self.time if service.until is None else service.until
                return replace(service, until=until), self.begun.get(key, service.epoch)
        return None

    def _has(self, node_id: int, dirs: Collection[str]) -> None:
        self.dirs[node_id] = tuple(dirs) or (ANY,)
        self.begun.update({(node_id, each): self.epochs.get(node_id, -1) for each in self.dirs[node_id]})

    def led_anew(self) -> None:
        """Another one leads the metadata from here on, or the same one again."""
        self.before = self.time

    def _let_in(self, node_id: int, time: int) -> None:
        service = Use(epoch=self.epochs.get(node_id, -1), since=time)
        self.served.update({(node_id, each): service for each in self.dirs.get(node_id, ())})

    def _end(
        self,
        node_id: int,
        time: int,
        end: Ended = Ended.UNTOLD,
        *,
        keeping: Collection[str] = (),
        since_led: int = -1,
    ) -> None:
        for key, service in self.served.items():
            if key[0] == node_id and service.until is None and key[1] not in keeping:
                until = since_led if since_led > service.since else time
                self.served[key] = replace(service, until=until, end=end)
