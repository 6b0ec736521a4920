"""What the broker's process needs of its machine beside disks: memory maps, and open files.

Both are of the process or the machine, and stand on none of the disks.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from segmend.formats.names import DirKind
from segmend.node.broker_dirs import BrokerDirs

LOADED: Final[frozenset[DirKind]] = frozenset({"current", "future", "stray"})
"""The kinds of directories whose segments a start loads."""
MAX_MAP_COUNT: Final = 65_530
"""Linux's own default of vm.max_map_count."""
OPEN_FILES: Final = 4_096
"""What a process may open on Linux where nobody allows it more: the JVM takes all that it is allowed."""
_MAPS_A_SEGMENT: Final = 2
_MAPS_OF_THE_PROCESS: Final = 2_000
"""The maps of the JVM itself: libraries, heap regions, thread stacks."""


def loaded_segments(broker: BrokerDirs, *, kinds: Collection[DirKind] = LOADED) -> int:
    """How many segments a start loads: each log stays open, and its indexes are mapped once they are used."""
    return sum(len(each.layout.logs) for each in broker.partitions if each.kind in kinds)


def maps_needed(segments: int) -> int:
    """How many memory maps a broker of so many segments needs at most."""
    return segments * _MAPS_A_SEGMENT + _MAPS_OF_THE_PROCESS
