"""What follows from the time of one start: a rolling restart of the cluster, and Kubernetes probes."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Final

from segmend.explain.startup import Study
from segmend.frozen import frozen

PERIOD_SECONDS: Final = 10
SAFETY: Final = 2.0
"""The probe waits so many times the worst unclean start: disks are busier after a power cut."""
LEAST_SECONDS: Final = 300
"""No probe and no grace period below this: leaders move first, and a higher bound costs nothing."""
DEFAULT_PORT: Final = 9092
CATCH_UP: Final = 1.0
"""Seconds until the replicas are in the ISR again, for each second that the broker was away.

KIP-263 reports as much (8 minutes of loading, 8 minutes until no partition is under-replicated).
"""

_PORT = re.compile(r":(\d{1,5})$")


@frozen
class Bounce:
    """A rolling restart, one broker after the other, all of them like this one."""

    brokers: int
    stop: float
    start: float

    @property
    def isr(self) -> float:
        """Until its replicas have caught up."""
        return (self.stop + self.start) * CATCH_UP

    @property
    def each(self) -> float:
        """Seconds a broker."""
        return self.stop + self.start + self.isr

    @property
    def total(self) -> float:
        return self.brokers * self.each


@frozen
class Probe:
    """A `startupProbe` that lets the worst unclean start finish, and the grace of a clean stop."""

    worst: float
    failure_threshold: int
    grace_seconds: int
    port: int

    @property
    def seconds(self) -> int:
        """How long the probe waits."""
        return self.failure_threshold * PERIOD_SECONDS


def bounce(study: Study, brokers: int, *, eager: bool | None = None) -> Bounce:
    """The restart after clean stops; `eager` as in `Study.estimate`."""
    return Bounce(brokers=brokers, stop=study.stop, start=study.estimate("clean", eager=eager).seconds)


def probe(studies: Sequence[Study], given: Mapping[str, str]) -> Probe:
    """The settings that follow from the worst kill by any of these rules; `given` is server.properties."""
    worst = max(study.estimate(case).seconds for study in studies for case in ("killed", "worst"))
    stop = max(study.stop for study in studies)
    seconds = max(worst * SAFETY, LEAST_SECONDS)
    return Probe(
        worst=worst,
        failure_threshold=math.ceil(seconds / PERIOD_SECONDS),
        grace_seconds=max(LEAST_SECONDS, math.ceil(stop * SAFETY / 60) * 60),
        port=_port(given),
    )


def _port(given: Mapping[str, str]) -> int:
    """The port of the first listener that is no controller's."""
    controllers = given.get("controller.listener.names", "CONTROLLER").upper().split(",")
    for listener in given.get("listeners", "").split(","):
        match = _PORT.search(listener.strip())
        if match and listener.strip().partition(":")[0].upper() not in controllers:
            return int(match[1])
    return DEFAULT_PORT
