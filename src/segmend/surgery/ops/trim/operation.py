"""The torn end of logs cut off, all whole batches kept, what is cut off kept aside.

After a kill or a power cut a log may end in part of a batch, in a few bytes, or in zeros. With
the clean marker a broker does not look, and appends behind them what can then never be read. In a
rolled segment nothing is ever cut. Trimming that is not lossy: a broker would never give out
these bytes.

Damage further up, with whole batches behind it, is another matter: cutting there takes those
batches too. That is left alone, but for a torn end behind them, unless `--accept-loss` names how many
records go. If the log then ends there, recovery point and high watermark are set to that end, as the
broker would do itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from segmend.checks import remedies
from segmend.formats.offset_checkpoint import HIGH_WATERMARK, RECOVERY_POINT
from segmend.frozen import frozen
from segmend.logdir.log_segment import LogSegment
from segmend.logdir.partition_dir import PartitionDir
from segmend.node.broker_dirs import BrokerDirs
from segmend.surgery.ops.trim.cuts import Cut, cut_of, steps_of
from segmend.surgery.options import option
from segmend.surgery.plan import Left, Loss, Plan
from segmend.surgery.planning import accepted_loss, assembly
from segmend.surgery.planning.assembly import Draft
from segmend.surgery.planning.linked import left_in_a_link
from segmend.surgery.request import Request
from segmend.surgery.step import Step

NAME = "trim"
EXAMPLES = """\
examples:
  segmend plan trim /data/a /data/b -o plan.json
  segmend plan trim /data/a/orders-3 -o plan.json                     one partition
  segmend plan trim /data/a --accept-loss 120-records -o plan.json    also where whole batches follow"""


@frozen
class Options:
    """What `plan trim` may be asked."""

    accept_loss: int | None = option(
        "also cut off N records that are whole", "N-records", accepted_loss.records
    )


def plan(request: Request[Options]) -> Plan:
    """The plan; raises `UsageError` if the loss is not the one that was accepted."""
    linked, cuts = _parted(_cuts(request))
    lossy = [cut for cut in cuts if cut.lossy]
    agreed = request.options.accept_loss
    total = sum(cut.records for cut in lossy)
    accepted_loss.refuse_other_figure(agreed, total)
    fatal = {id(cut): why for cut in lossy if (why := _deletes_all(cut)) is not None}
    asked = [c for c in cuts if not c.lossy or (agreed is not None and id(c) not in fatal)]
    taken = [*asked, *(cut.torn_end for cut in lossy if cut not in asked and cut.torn_end is not None)]
    markers, notes = _markers(request.broker, taken)
    draft = Draft(
        steps=[*markers, *(step for cut in taken for step in steps_of(cut)), *_lines(request.broker, taken)],
        losses=[_loss(cut) for cut in taken if cut.lossy], notes=notes,
        left=[
            *linked, *(fatal.get(id(cut)) or _left(cut, total) for cut in lossy if cut not in asked),
            *_gaps(taken),
        ],
    )  # fmt: skip
    arguments = {} if agreed is None else {"accept-loss": f"{agreed}-records"}
    return assembly.make(NAME, arguments, request, draft)


def _cuts(request: Request[Options]) -> Iterator[Cut]:
    segments = [segment for p in _partitions(request) for segment in p.segments]
    total = sum(_size(segment) for segment in segments)
    done = 0
    for segment in segments:
        request.on_progress(done, total)
        cut = cut_of(segment)
        if cut is not None:
            yield cut
        done += _size(segment)


def _parted(cuts: Iterable[Cut]) -> tuple[list[Left], list[Cut]]:
    """Logs that are links, through which no plan writes, and the cuts of the others."""
    linked, others = [], []
    for cut in cuts:
        left = left_in_a_link(cut.segment.partition, cut.segment.name, cut.why)
        if left is None:
            others.append(cut)
        else:
            linked.append(left)
    return linked, others


def _partitions(request: Request[Options]) -> Iterator[PartitionDir]:
    for partition in request.broker.current:
        if not request.names or partition.name in request.names:
            yield partition


def _size(segment: LogSegment) -> int:
    return 0 if segment.log is None else segment.log.size


def _deletes_all(cut: Cut) -> Left | None:
    """Since 2.3 a log that ends before its start offset is deleted as a whole when it is loaded."""
    partition = cut.segment.partition
    start = partition.log_dir.log_start_offsets.get(partition.key, 0)
    if not cut.segment.is_active or cut.next_offset >= start:
        return None
    why = f"the log would end before its start offset {start}, and the broker delete it"
    return Left(why=why, path=_place(cut))


def _left(cut: Cut, total: int) -> Left:
    why = (
        f"{cut.why}, and {cut.records} records in whole batches behind it; `segmend plan repair` may keep "
        f"them, another replica has them; to cut all such: --accept-loss {total}-records"
    )
    return Left(why=why, path=_place(cut))


def _place(cut: Cut) -> str:
    return f"{cut.segment.partition.path}/{cut.segment.name}"


def _loss(cut: Cut) -> Loss:
    partition = cut.segment.partition
    return Loss(
        dir=partition.log_dir.path, topic=partition.topic, partition=partition.partition, records=cut.records,
        bytes=cut.size - cut.position, first_offset=cut.next_offset, last_offset=cut.last_offset,
        what=f"{cut.segment.name} from byte {cut.position} on",
    )  # fmt: skip


def _lines(broker: BrokerDirs, cuts: Sequence[Cut]) -> Iterator[Step]:
    """Checkpoints that promise no more than is left: what lies behind it was given up by its figure."""
    for log_dir in broker.dirs:
        ends = {
            cut.segment.partition.key: cut.next_offset
            for cut in cuts
            if cut.lossy and cut.segment.is_active and cut.segment.partition.log_dir is log_dir
        }
        for name, said in (
            (RECOVERY_POINT, log_dir.recovery_points),
            (HIGH_WATERMARK, log_dir.high_watermarks),
        ):
            beyond = {key: end for key, end in ends.items() if said.get(key, 0) > end}
            if beyond:
                yield from assembly.checkpoint_step(log_dir, name, beyond, "the log ends there")


def _gaps(cuts: Sequence[Cut]) -> Iterator[Left]:
    """Offsets that the log, or a checkpoint, had: a check goes on to say that they are missing."""
    for cut in cuts:
        partition = cut.segment.partition
        bases = (each.base_offset for each in partition.segments)
        inside = min((base for base in bases if base > cut.segment.base_offset), default=None)
        if inside is None and cut.lossy:
            continue  # Its checkpoints promise no more by then.
        following = _promised(partition) if inside is None else inside
        if cut.next_offset < following:
            what = "cut off" if cut.lossy else "in no whole batch"
            whose = "" if inside is not None else "; the recovery point or high watermark still tells of them"
            why = (
                f"offsets {cut.next_offset} to {following - 1} are {what}, and missing from then on; "
                f"another replica may have them{whose}"
            )
            yield Left(why=why, path=_place(cut), next=_graft(partition, whole=not cut.kept.batches))


def _graft(partition: PartitionDir, *, whole: bool) -> str | None:
    """The metadata log is not replicated as others are: `check` names what mends it."""
    if partition.kind != "current":
        return None
    return remedies.graft(partition.log_dir.path, partition.name, whole=whole).command


def _promised(partition: PartitionDir) -> int:
    """The offset that recovery point or high watermark say the log reaches."""
    log_dir, key = partition.log_dir, partition.key
    return max(log_dir.recovery_points.get(key, 0), log_dir.high_watermarks.get(key, 0))


def _markers(broker: BrokerDirs, cuts: Sequence[Cut]) -> tuple[list[Step], list[str]]:
    """A log that ends earlier than it did needs the broker's own look; a mere torn end does not."""
    steps, notes = [], []
    for log_dir in broker.dirs:
        here = [cut for cut in cuts if cut.segment.partition.log_dir is log_dir]
        if not here or not log_dir.is_clean:
            continue
        shorter = any(cut.lossy and cut.segment.is_active for cut in here)
        step = assembly.set_marker_aside(log_dir, "a log ends earlier than it did") if shorter else None
        steps += [] if step is None else [step]
        notes.append(f"{log_dir.path}: {assembly.MARKER_KEPT if step is None else assembly.MARKER_GONE}")
    return steps, notes
