"""When nodes served with which of their log dirs, as the cluster's metadata tells it.

A node registers at each start (`RegisterBrokerRecord`), which says little: it may fail afterwards. Once it
has loaded its logs it is let in (unfenced), and all dirs that it has registered then are in use. Releases
before 3.7 registered no dirs: all of them stand under `ANY`.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from segmend.frozen import dataclass, field, frozen, replace

ANY: Final = ""


@frozen
class Use:
    """The last time that a dir was in use: the broker epoch, and when that ended (ms); None: it goes on.

    `in_order`: the node said then that it stops.
    """

    epoch: int
    until: int | None = None
    in_order: bool = False


@dataclass(slots=True)
class Runs:
    """What the records say of each node, in their order.

    `time` is that of the newest batch (ms, -1 without one), `epochs` the newest broker epoch of each node,
    `dirs` are those that it has now, `begun` the newest epoch with which it registered a dir, `served` the
    last time that this was in use.
    """

    time: int = -1
    epochs: dict[int, int] = field(default_factory=dict)
    dirs: dict[int, tuple[str, ...]] = field(default_factory=dict)
    begun: dict[tuple[int, str], int] = field(default_factory=dict)
    served: dict[tuple[int, str], Use] = field(default_factory=dict)

    def start(
        self, node_id: int, epoch: int, dirs: Collection[str], *, serves: bool = False, stops: bool = False
    ) -> None:
        """It registers; what went on before ended at the latest with the newest batch of then.

        In a snapshot that record also says whether it `serves` already, and `stops` again.
        """
        self._end(node_id, self.time)
        self.epochs[node_id] = epoch
        self._has(node_id, dirs)
        if serves:
            self._let_in(node_id)
        if stops:
            self._end(node_id, self.time, in_order=True)

    def change(
        self, node_id: int, dirs: Collection[str], *, serves: bool | None, stops: bool, time: int
    ) -> None:
        """It has other dirs, or serves from now on, or does not any more; empty and None: as before.

        `stops`: it says so itself.
        """
        if dirs:
            self._end(node_id, time, keeping=dirs)
            self._has(node_id, dirs)
        if stops or serves is False:
            self._end(node_id, time, in_order=stops)
        elif serves:
            self._let_in(node_id)

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

    def _let_in(self, node_id: int) -> None:
        service = Use(epoch=self.epochs.get(node_id, -1))
        self.served.update({(node_id, each): service for each in self.dirs.get(node_id, ())})

    def _end(self, node_id: int, time: int, *, keeping: Collection[str] = (), in_order: bool = False) -> None:
        for key, service in self.served.items():
            if key[0] == node_id and service.until is None and key[1] not in keeping:
                self.served[key] = replace(service, until=time, in_order=in_order)
