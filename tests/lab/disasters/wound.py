"""What a wound is."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from tests.lab.disasters.scene import Scene

Hurt = Callable[[Scene, str, random.Random], object]


@dataclass(frozen=True)
class Wound:
    """`kind` is of the disasters that draw it; `since` the first release that has what it hurts."""

    kind: str
    hurt: Hurt
    targets: tuple[str, ...]
    since: tuple[int, ...] = (0,)
