"""Whether a leader's log can be seen to be the one that a replica copied from.

Not a check. Batches of both show it, where nobody compacted them, and so does the topic's id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from segmend.formats.offset_checkpoint import CLEANER_OFFSET
from segmend.kernel.scan import iter_batches
from segmend.logdir.file_system import Unreadable
from segmend.logdir.second_looks import look_again

if TYPE_CHECKING:
    from .context import PartitionContext
    from .segment_view import SegmentView


def shows_whose_it_is(context: PartitionContext) -> bool:
    """Whether it has a topic id, no byte at all, or a sound batch that was not compacted.

    `plan graft` needs one of these, or --whole. The last segment is asked first: no cleaner was there.
    """
    if context.partition.topic_id is not None or not any(view.size for view in context.views):
        return True
    low = context.checkpointed(CLEANER_OFFSET) or 0
    views = (view for view in reversed(context.views) if view.next_base is None or view.next_base > low)
    return any(_has_sound_batch(view, low) for view in views)


def _has_sound_batch(view: SegmentView, low: int) -> bool:
    try:
        with look_again(view.log) as reader:
            batches = iter_batches(reader, crc=True, resync=True, base_offset=view.base_offset)
            return any(batch.base_offset >= low for batch in batches)
    except Unreadable:
        return True  # said by who reads it first
