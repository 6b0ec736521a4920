"""An out-of-sync or lost replica brought up to its leader's log, from the leader's files.

Both replicas are read once, every checksum computed, and compared batch by batch: offsets, leader
epoch, checksum. What is equal from the beginning on stays; what the replica has beyond that and the
leader has not is cut off and kept aside (a broker that starts cuts it off too, and keeps nothing); only
what is missing is copied. Indexes, snapshots, leader epochs and the lines of the four checkpoints are
made to fit. The broker then fetches only what the leader got since, and is in the ISR within seconds.

`--from` may be a copy of the leader's directory. Copy its replication-offset-checkpoint and
log-start-offset-checkpoint beside it, under the log dir's name, and the high watermark is set too.
"""

from __future__ import annotations

from collections.abc import Iterator

from segmend.broker.checkpoints import LEADER_EPOCHS
from segmend.broker.strays import STRAYS, StrayHandling, stray_reason
from segmend.errors import SegmendError, UsageError
from segmend.formats import epoch_checkpoint
from segmend.formats.offset_checkpoint import FILE_NAMES, HIGH_WATERMARK, RECOVERY_POINT
from segmend.frozen import frozen
from segmend.logdir import disk
from segmend.logdir.beyond_end import beyond_end
from segmend.logdir.log_dir import LogDir
from segmend.node.broker_dirs import BrokerDirs
from segmend.surgery.derive.index_interval import interval_of
from segmend.surgery.ops.graft.decision import Splice
from segmend.surgery.ops.graft.graft_steps import Graft, steps_of
from segmend.surgery.ops.graft.lineage import lines_up_to
from segmend.surgery.ops.graft.preparation import Site, lines, look_at, make
from segmend.surgery.options import flag, option, required
from segmend.surgery.plan import Left, Loss, Plan
from segmend.surgery.planning import assembly
from segmend.surgery.planning.assembly import Draft
from segmend.surgery.planning.expected import refuse_other_topic
from segmend.surgery.planning.topic_dirs import check_target
from segmend.surgery.recipes import OF_INDEXES, Rebuild
from segmend.surgery.replicas.comparison import Comparison
from segmend.surgery.replicas.leader import Leader
from segmend.surgery.replicas.registered import heard_of
from segmend.surgery.request import Request
from segmend.surgery.step import Step
from segmend.surgery.steps.replace_file import ReplaceFile

NAME = "graft"
EXAMPLES = """\
examples:
  segmend plan graft /data/a /data/b --partition orders-3 --from /mnt/leader/data/a/orders-3 -o plan.json
  segmend plan graft /data/a /data/b --partition orders-3 --from /mnt/leader/orders-3 \\
      --to /data/b -o plan.json                          a replica that is not there any more
  segmend plan graft /data/a /data/b --partition orders-3 --from /mnt/leader/data/a/orders-3 \\
      --live-source -o plan.json                         while the leader serves; so, too, after a restamp,
                                                         where leader epochs of old keep it out of sync"""


@frozen
class Options:
    """What `plan graft` may be asked."""

    partition: str = required("the replica to restore", "TOPIC-N")
    from_: str = required("the leader's directory of it", "LEADER_PARTITION_DIR")
    to: str | None = option("which log dir gets a replica that is not there any more", "DIR")
    live_source: bool = flag("a broker runs on the leader's files: read up to its high watermark only")
    whole: bool = flag("set this replica aside and copy all of the leader's log")


def plan(request: Request[Options]) -> Plan:
    """The plan; raises `UsageError`, `BrokerRunning`, and `SegmendError` for a leader that is none."""
    options = request.options
    assembly.refuse_strangers(request.broker, request.given)
    site = _site(request)
    refuse_other_topic(site.leader.partition, request.broker.metadata)
    comparison, cut = look_at(
        site, live=options.live_source, whole_log=options.whole, tell=request.on_progress
    )
    arguments = {"partition": site.name, "from": options.from_}
    if cut is None:
        end = comparison.shared.end
        notes = [f"both replicas end at offset {end}: nothing is missing", *_anew(site)]
        steps = [*_too_high(site, end), *_beyond(site, end), *_forget(site, end)]
        left = list(_left(site, comparison, live=options.live_source))
        return assembly.make(NAME, arguments, request, Draft(steps=steps, notes=notes, left=left))
    graft = make(site, cut, request.on_progress)
    draft = Draft(
        steps=[*steps_of(graft), *_checkpoints(request, site, cut, graft)],
        losses=list(_losses(site, comparison)), extra={NAME: _facts(comparison, cut)},
        notes=[*_unexpected(request, site), *_notes(site, comparison, cut), *_anew(site)],
        left=list(_left(site, comparison, live=options.live_source)),
    )  # fmt: skip
    return assembly.make(NAME, arguments, request, draft)


def _site(request: Request[Options]) -> Site:
    named, target = request.replica_called(request.options.partition)
    leader = Leader.open(request.options.from_, named.topic, named.partition)
    if target is not None and disk.real_path(target.path) == leader.path:
        raise UsageError(f"--from {request.options.from_}: is the replica that is to be restored")
    log_dir = target.log_dir if target is not None else _home(request, named.name, leader)
    if target is None and named.name in log_dir.entries:
        raise SegmendError(f"{log_dir.path}/{named.name}: is no directory; give it another name first")
    theirs = None if leader.home is None else BrokerDirs([leader.home], release=request.release)
    brokers = [request.broker, *([theirs] if theirs else [])]
    return Site(
        log_dir=log_dir, name=named.name, target=target, leader=leader, release=request.release,
        heard=heard_of(leader.key, brokers, theirs),
    )  # fmt: skip


def _home(request: Request[Options], name: str, leader: Leader) -> LogDir:
    """Where a lost replica goes: as asked for, as the cluster has it, where it was, or the only log dir."""
    if request.options.to is not None:
        asked = request.dir_called(request.options.to, "--to")
        check_target(request.broker, asked)
        return asked
    if len(request.dirs) == 1:
        return request.dirs[0]
    image = request.broker.metadata
    if image is not None:
        wanted = image.directory(image.ids.get(leader.key[0], ""), leader.key[1], request.broker.node_id)
        for log_dir in request.dirs:
            if log_dir.directory_id is not None and log_dir.directory_id == wanted:
                return log_dir
    known = [d for d in request.dirs if leader.key in d.recovery_points or leader.key in d.high_watermarks]
    if len(known) != 1:
        raise UsageError(f"{name}: is in none of the log dirs; say which one gets it: --to DIR")
    return known[0]


def _too_high(site: Site, end: int | None) -> Iterator[Step]:
    """Lines beyond an end that the leader shares: they were written wrong, no record is behind them."""
    for name in (RECOVERY_POINT, HIGH_WATERMARK):
        if end is not None and site.log_dir.checkpointed(name).get(site.key, 0) > end:
            reason = f"{site.name} ends at offset {end}, as its leader does"
            yield from assembly.checkpoint_step(site.log_dir, name, {site.key: end}, reason)


def _beyond(site: Site, end: int | None) -> Iterator[Step]:
    """Indexes that go on behind that end likewise, made anew: a leader says what the disk alone does not."""
    partition = site.target
    if partition is None or end is None or not partition.segments:
        return
    last = partition.segments[-1]
    beyond = None if last.log is None else beyond_end(last, last.log.size, end)
    earlier = [base for base in partition.base_offsets if base != last.base_offset]
    for name in () if beyond is None else beyond.files:
        recipe = OF_INDEXES.get(name.rpartition(".")[2])
        if recipe is not None:
            interval = interval_of(partition, earlier, None)
            wanted = Rebuild.within(partition, name, recipe, base_offset=last.base_offset, interval=interval)
            reason = f"the log ends at offset {end}, as its leader's does"
            yield ReplaceFile.with_recipe(wanted, reason, site.release)


def _forget(site: Site, end: int | None) -> Iterator[Step]:
    """The leader's epochs in place of higher ones of a topic before."""
    if site.target is not None and end is not None and site.has_forgotten_epochs:
        data = lines_up_to(site.leader.partition, end)
        path, reason = f"{site.target.path}/{epoch_checkpoint.FILE_NAME}", "the leader epochs of its leader"
        yield ReplaceFile.with_bytes(path, data, reason)


def _anew(site: Site) -> Iterator[str]:
    if site.target is not None and site.heard is not None and site.has_forgotten_epochs:
        yield (
            f"{site.target.path}: its leader epochs above {site.heard.registered.epoch} are of a topic of "
            "this name before, and its leader forgot them when it began to lead: with them it would not "
            "come into sync, so it gets those of its leader"
        )


def _unexpected(request: Request[Options], site: Site) -> Iterator[str]:
    """A start does away with what the metadata here gives to other nodes; perhaps it is only old."""
    handling, image = STRAYS.of(request.release), request.broker.metadata
    topic_id, node_id = site.leader.partition.topic_id, request.broker.node_id
    if image is None or topic_id is None or handling is StrayHandling.NONE:
        return
    path = f"{site.log_dir.path}/{site.name}"
    why = stray_reason(image, topic_id=topic_id, partition=site.key[1], node_id=node_id, path=path)
    if why is not None:
        does = "deletes it" if handling is StrayHandling.DELETE else "renames it to -stray"
        yield f"{why} The next start {does}, unless the replica is assigned to node {node_id} by then"


def _checkpoints(request: Request[Options], site: Site, cut: Splice, graft: Graft) -> Iterator[Step]:
    """The lines of the replica; another log dir in which it once was keeps none.

    `LogCleanerManager.allCleanerCheckpoints` puts the lines of all log dirs into one map.
    """
    offsets = lines(site, cut, graft)
    for log_dir, name in ((log_dir, name) for log_dir in request.dirs for name in FILE_NAMES):
        home = log_dir is site.log_dir
        if not home and not _has_line(log_dir, name, site):
            continue
        changes = {site.key: offsets[name] if home else None}
        yield from assembly.checkpoint_step(log_dir, name, changes, f"the line of {site.name}")


def _has_line(log_dir: LogDir, name: str, site: Site) -> bool:
    """Whether a checkpoint that a broker can read says something of the replica."""
    loaded = log_dir.offset_checkpoint(name)
    return loaded.value is not None and not loaded.damages and site.key in loaded.value.offsets()


def _losses(site: Site, comparison: Comparison) -> Iterator[Loss]:
    lost = comparison.lost
    if not lost.batches:
        return
    epochs = ", ".join(map(str, sorted(lost.epochs)))
    mark = site.log_dir.high_watermarks.get(site.key, 0)
    theirs = _UNTOLD if min(lost.epochs) < 0 else _NOT_THE_LEADERS
    once = (lost.first or 0) < mark and (lost.last or 0) >= site.leader.log_start_offset
    yield Loss(
        dir=site.log_dir.path, topic=site.key[0], partition=site.key[1], records=lost.records,
        bytes=lost.bytes, first_offset=lost.first, last_offset=lost.last,
        what=f"of this replica only (leader epoch {epochs}): {theirs}"
        f"{_COMMITTED.format(mark) if once else ''}; the old bytes are kept aside",
    )  # fmt: skip


def _left(site: Site, comparison: Comparison, *, live: bool) -> Iterator[Left]:
    """What this replica once had committed, and neither log has: after the graft no file here tells of it."""
    if live:
        return  # The leader's log is read up to its checkpoint, and goes on.
    mark = site.log_dir.high_watermarks.get(site.key, 0)
    end = max(comparison.source.end or 0, comparison.target.end or 0)
    if end < mark:
        yield Left(
            why=f"offsets {end} to {mark - 1} were committed here (high watermark {mark}), and "
            f"{site.leader.path} does not have them either: is that the leader's log, and a current "
            "copy of it?",
            path=f"{site.log_dir.path}/{site.name}",
        )  # fmt: skip


_NOT_THE_LEADERS = "the leader does not have them, so the topic does not lose them"
_UNTOLD = "these releases kept no epochs, so the topic does not lose them only if that is its leader's log"
_COMMITTED = (
    " now; it did when that leader was elected: this replica had them committed up to high watermark {}"
)


def _facts(comparison: Comparison, cut: Splice) -> dict[str, int | None]:
    """The figures for programs: offsets, and bytes of batches."""
    return {
        "first_copied_offset": comparison.source.first if cut.kept is None else cut.offset,
        "log_end_offset": cut.end_offset,
        "shared_batches": 0 if cut.kept is None else comparison.shared.batches,
        "shared_bytes": 0 if cut.kept is None else comparison.shared.bytes,
        "copied_bytes": comparison.source.bytes if cut.kept is None else comparison.copied.bytes,
    }  # fmt: skip


def _notes(site: Site, comparison: Comparison, cut: Splice) -> Iterator[str]:
    path, shared = f"{site.log_dir.path}/{site.name}", comparison.shared
    if cut.kept is None:
        last = cut.end_offset - 1
        yield f"{path}: the leader's whole log is copied, offsets {comparison.source.first} to {last}"
    else:
        yield (
            f"{path}: offsets {shared.first} to {cut.offset - 1} are proven equal ({shared.batches} batches "
            f"by checksum and leader epoch); {_copied(cut)}"
        )
    low = site.first_dirty_offset
    if low and cut.kept is not None:
        yield f"{path}: below offset {low} each broker compacts on its own; that part is left as it is"
    if comparison.lost.batches:
        first = comparison.lost.first
        yield f"{path}: had gone another way from offset {first} on, as after an unclean election"
    if site.leader.partition.topic_id is None:
        yield f"{site.leader.path}: has no topic id; only the batches prove that it is the same topic"
    mark = site.leader.high_watermark
    if mark is None:
        yield (
            f"{site.leader.path}: its high watermark is not known (no checkpoint beside it); this replica "
            f"keeps its own until it hears from the leader{_old_brokers(site)}"
        )
    yield "when it starts, the broker fetches only what the leader got since its files were read"
    if site.log_dir.is_clean:
        yield f"{site.log_dir.path}: {assembly.MARKER_FITS}"


def _copied(cut: Splice) -> str:
    if cut.end_offset == cut.offset:
        return "nothing is missing behind them"
    return f"copied are {cut.offset} to {cut.end_offset - 1}"


def _old_brokers(site: Site) -> str:
    if LEADER_EPOCHS.of(site.release):
        return ""
    return "; this release cuts it to that at the start, and fetches the rest again"
