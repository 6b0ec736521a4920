"""What the checks of logs, indexes and producers ask about a segment before they judge it.

Not a check. `healed_at_start` and `in_flight` say what the state of the directory makes of
a fault; the rest reads the few bytes around one place that a scan has pointed at.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final, TypeVar

from segmend.broker import cleanup_policy
from segmend.broker.recovery import TOO_SMALL
from segmend.broker.sanity import TIME_INDEX
from segmend.formats import offset_index
from segmend.formats.batch import HEADER_SIZE_V1, HEADER_SIZE_V2, RecordBatch, parse
from segmend.formats.offset_checkpoint import CLEANER_OFFSET, HIGH_WATERMARK, RECOVERY_POINT
from segmend.kernel.scan import iter_batches
from segmend.kernel.types import Problem, SegmentScan

from .context import PartitionContext
from .segment_view import SegmentView

T = TypeVar("T")

# A broken segment tells its story in its first faults; the rest is a number in the last one.
MOST_FINDINGS: Final = 20
# Headers walked again for one fault; a log of more is judged without them.
MOST_BATCHES: Final = 1_000_000
# Bytes of one batch that are read to see whether it is sound.
PROOF_LIMIT: Final = 64 << 20


def healed_at_start(view: SegmentView) -> bool:
    """Whether the next start recovers this segment: cuts its tail and rebuilds its indexes."""
    return view.context.dir.recovers(view.context.partition, view.base_offset)


def claimed_end(context: PartitionContext) -> int:
    """The highest log end offset that snapshots and checkpoints testify to."""
    snapshots = (offset for offset, _ in context.partition.snapshots)
    points = (context.checkpointed(name) or 0 for name in (RECOVERY_POINT, HIGH_WATERMARK))
    return max(*points, max(snapshots, default=0))


def was_cut(view: SegmentView, scan: SegmentScan) -> bool:
    """Whether the log once went further than it does: what its indexes say beyond its end was right."""
    return view.is_active and claimed_end(view.context) > scan.next_offset


def ended_there(view: SegmentView, end: int) -> bool:
    """Whether a clean stop left the log with that end: then an index that goes on is wrong."""
    return not healed_at_start(view) and view.context.checkpointed(RECOVERY_POINT) == end


def in_flight(view: SegmentView) -> bool:
    """Whether a running broker is appending to this segment: its end is not there yet."""
    return view.is_active and view.context.running


def lacks_time_index(context: PartitionContext) -> bool:
    """Whether any log lacks its time index, in a release that has them."""
    names = context.partition.layout
    return TIME_INDEX.of(context.release) and not names.logs.keys() <= names.timeindex.keys()


def too_small(view: SegmentView, size: object = "...") -> str:
    """What a broker says that comes upon such a size where a batch should begin."""
    return TOO_SMALL.of(view.context.release).format(size=size, file="...").removesuffix(".")


def compacted(context: PartitionContext) -> bool:
    """Whether the cleaner has been at work here, as far as the disk tells: offsets may be missing."""
    topic, broker = context.partition.topic, context.broker_dirs
    image, node_id = broker.metadata, broker.node_id
    own = {} if image is None else image.configs.get(topic, {})
    dynamic = {} if image is None else image.dynamic(node_id)
    cleaned_to = context.checkpointed(CLEANER_OFFSET)
    return cleanup_policy.compacted(topic, cleaned_to, own, dynamic, broker.config.given)


def problems(scan: SegmentScan, *kinds: str) -> list[Problem]:
    """The scan's problems of these kinds, by position."""
    return [problem for problem in scan.problems if problem.kind in kinds]


def first(items: Iterable[T]) -> Iterator[T]:
    """No more findings of one kind than anybody reads."""
    return islice(items, MOST_FINDINGS)


def batch_at(view: SegmentView, position: int) -> RecordBatch | None:
    """The header at `position`, whatever it says; None at the end of the file."""
    batch, _ = parse(view.reader.read(max(HEADER_SIZE_V1, HEADER_SIZE_V2), position), position)
    return batch


def is_sound(view: SegmentView, position: int) -> bool:
    """Whether a whole batch with a right CRC begins at `position`."""
    batch = batch_at(view, position)
    if batch is None or batch.size > PROOF_LIMIT:
        return False
    _, damages = parse(view.reader.read(batch.size, position), position)
    return not damages


def size_field(view: SegmentView, position: int) -> int:
    """The size field of the batch at `position`, -1 where the file ends before it."""
    data = view.reader.read(4, position + 8)
    return int.from_bytes(data, "big", signed=True) if len(data) == 4 else -1


def headers_before(view: SegmentView, position: int, count: int = 2, start: int = 0) -> list[RecordBatch]:
    """The last `count` batches that a walk from `start` meets before `position`, in order."""
    kept: deque[RecordBatch] = deque(maxlen=count)
    near = start or _boundary_before(view, position, count)
    walk = iter_batches(view.reader, start=near, stop=position, resync=True, base_offset=view.base_offset)
    kept.extend(islice(walk, MOST_BATCHES))
    whole = next(walk, None) is None
    return list(kept) if whole else []


def _boundary_before(view: SegmentView, position: int, count: int) -> int:
    """From where a walk to `position` meets at least `count` batches; 0 unless the index knows it."""
    match, holes = view.scan.offset_index, view.scan.holes
    if match is None or match.mismatched or not match.entries:
        return view.scan.start
    positions = offset_index.parse(view.offset_index or b"")[0].positions
    row = bisect_left(positions, position) - count
    near = positions[row] if row >= 0 else 0
    return 0 if any(start <= near < end for start, end in holes) else near
