"""More segments than the kernel lets one process map."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.sanity import OPENS_EVERY_INDEX
from segmend.broker.serving import MAP_FAILED
from segmend.findings import Finding, Severity
from segmend.node.process_limits import loaded_segments, maps_needed

from . import remedies
from .context import BrokerContext
from .manual import REFUSES, WARNING, Code, Level, Page, Scope

CODES = (
    Code("K20", WARNING, "the indexes of all segments need more memory maps than vm.max_map_count", REFUSES),
)
PAGE = Page(
    meaning="""
        A broker maps the offset index and the time index of every segment it uses, two maps each. Linux
        allows 65530 a process unless told otherwise.""",
    broker="""
        "java.io.IOException: Map failed", an OutOfMemoryError: it stops, while loading (before 2.3, and for
        active segments always) or later when old segments are read.""",
    advice="Raise the limit on the broker's machine before the start.",
    kafka="AbstractIndex; lazily mapped since 2.3 (KAFKA-7283).",
)
SCOPE = Scope.BROKER
LEVEL = Level.STARTUP


def run(broker: BrokerContext, context: BrokerContext) -> Iterator[Finding]:
    """One finding for the broker, in its first dir."""
    segments = loaded_segments(broker.broker_dirs)
    needed = maps_needed(segments)
    if needed <= context.max_map_count:
        return
    eager = OPENS_EVERY_INDEX.of(context.release)
    yield context.of(broker.dirs[0]).finding(
        "K20",
        f"{segments} segments need up to {needed} memory maps; vm.max_map_count is {context.max_map_count}",
        severity=Severity.ERROR if eager else Severity.WARNING,
        broker_says=MAP_FAILED,
        remedy=remedies.advice(f"sysctl -w vm.max_map_count={max(262_144, 2 * needed)}"),
        detail={"segments": segments},
    )
