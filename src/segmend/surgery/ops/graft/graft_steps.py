"""The steps that make a replica the log that was joined, so that at any moment what is there is a log.

Old segments go before new ones come, each new segment before the next, and its indexes after it;
a broker that is started in between finds a shorter replica and fetches the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from segmend.formats import epoch_checkpoint, partition_metadata
from segmend.formats.names import file_prefix
from segmend.frozen import frozen, replace
from segmend.logdir import disk
from segmend.logdir.files import FileEntry
from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir
from segmend.surgery.fingerprint import MISSING, Fingerprint, look
from segmend.surgery.new_bytes import MOST_INLINE, NewBytes
from segmend.surgery.ops.graft.decision import Splice
from segmend.surgery.replicas.derived import Derived
from segmend.surgery.replicas.joined_log import FileRange
from segmend.surgery.replicas.new_files import model_of
from segmend.surgery.step import Step
from segmend.surgery.steps.append_file import AppendFile
from segmend.surgery.steps.cut_file import CutFile
from segmend.surgery.steps.make_dir import MakeDir
from segmend.surgery.steps.quarantine import Quarantine
from segmend.surgery.steps.replace_file import ReplaceFile


@frozen
class Graft:
    """Where it goes and what it is made of.

    `target` is None for a replica that is not there, or that is wholly replaced (`replaced`).
    `interval` is that of the rebuilt indexes, `snapshots` come from the leader, `own` are
    small files that are made here: names and bytes. `times`: whether the release has time indexes.
    """

    log_dir: LogDir
    name: str
    source: PartitionDir
    cut: Splice
    target: PartitionDir | None
    replaced: PartitionDir | None
    derived: Sequence[Derived]
    interval: int
    snapshots: Sequence[FileEntry]
    own: Mapping[str, bytes]
    times: bool

    @property
    def path(self) -> str:
        """Of the replica's directory."""
        return f"{self.log_dir.path}/{self.name}"


def steps_of(graft: Graft) -> list[Step]:
    """All but the checkpoints of the log dir; raises `Unreadable`."""
    model = model_of(graft.log_dir, graft.target or graft.replaced)
    gone = {name for name, _ in _gone(graft)}
    steps = [*_begin(graft), *(Quarantine.of(f"{graft.path}/{name}", why) for name, why in _gone(graft))]
    metadata = graft.own.get(partition_metadata.FILE_NAME)
    if metadata is not None:
        steps.append(_small(graft, partition_metadata.FILE_NAME, metadata, model, gone, "the topic id"))
    steps.extend(_torn(graft))
    for each in graft.derived:
        steps.extend(_segment(graft, each, model, gone))
    for entry in graft.snapshots:
        path = f"{graft.path}/{entry.name}"
        steps.append(AppendFile.copied(path, entry, model, "producers as the leader knew them"))
    for name in sorted(graft.own.keys() - {partition_metadata.FILE_NAME}):
        why = "leader epochs of the new log" if name == epoch_checkpoint.FILE_NAME else "producers at its end"
        steps.append(_small(graft, name, graft.own[name], model, gone, why))
    return steps


def _begin(graft: Graft) -> Iterator[Step]:
    if graft.replaced is not None:
        yield Quarantine.of(graft.path, graft.cut.why)
    if graft.target is None:
        siblings = [p for p in graft.log_dir.current if not p.is_link]
        like = graft.replaced or next(iter(siblings), None)
        path = graft.log_dir.path if like is None else like.path
        yield MakeDir.like(graft.path, path, "of the grafted replica")


def _gone(graft: Graft) -> Iterator[tuple[str, str]]:
    """Files of offsets from where the copied ones begin."""
    if graft.target is None or graft.cut.kept is None:
        return
    layout = graft.target.layout
    for group in (layout.logs, layout.index, layout.timeindex, layout.txnindex):
        for base, name in sorted(group.items()):
            if base > graft.cut.kept.segment:
                yield name, graft.cut.why
    for offset, name in sorted(layout.snapshots.items()):
        if offset > graft.cut.offset:
            yield name, f"of offset {offset}: {graft.cut.why}"


def _torn(graft: Graft) -> Iterator[Step]:
    """What follows the shared batches in the last segment that stays."""
    if graft.target is None or graft.cut.kept is None:
        return
    base, size = graft.cut.kept
    path = graft.target.files[graft.target.layout.logs[base]].path
    if disk.file_size(path) > size:
        yield CutFile.to(path, size, graft.cut.why)


def _segment(graft: Graft, derived: Derived, model: Fingerprint, gone: set[str]) -> Iterator[Step]:
    segment = derived.segment
    stem = file_prefix(segment.base)
    if segment.copied is not None:
        content = derived.copied or _piece(segment.copied)
        yield _append(f"{graft.path}/{stem}.log", content, segment.kept, model)
    elif segment.kept is not None and disk.file_size(segment.kept.path) == segment.kept.length:
        yield AppendFile.synced(f"{graft.path}/{stem}.log")
    for suffix, recipe, data, sound in (
        (".index", "offset-index", derived.built.offset_index, derived.sound[0]),
        (".timeindex", "time-index", derived.built.time_index, derived.sound[1]),
    ):
        theirs = graft.source.file(stem + suffix)
        here = graft.target is not None and stem + suffix in graft.target.entries
        if suffix == ".timeindex" and not (graft.times or theirs or here):
            continue  # it would tell of a later release
        if sound and theirs is not None and segment.kept is None:
            why = "the leader's index, which agrees with the log"
            yield AppendFile.copied(f"{graft.path}/{theirs.name}", theirs, model, why)
            continue
        step = _small(graft, stem + suffix, data, model, gone, "entries of the new log")
        if isinstance(step, ReplaceFile) and len(data) > MOST_INLINE:
            yield _cooked(graft, step, recipe, segment.base)
        else:
            yield step
    has_one = graft.target is not None and f"{stem}.txnindex" in graft.target.entries
    if derived.txn_index or (has_one and f"{stem}.txnindex" not in gone):
        yield _small(graft, f"{stem}.txnindex", derived.txn_index, model, gone, "aborted transactions")


def _piece(part: FileRange) -> NewBytes:
    return NewBytes.range_of(part.path, part.start, part.length)


def _append(path: str, content: NewBytes, kept: FileRange | None, model: Fingerprint) -> Step:
    """The bytes behind what stays; owner and mode of the target, time of the source."""
    before = MISSING if kept is None else look(path, content=False).but(size=kept.length)
    mtime_ns = disk.file_stat(content.source or "").mtime_ns
    size = content.length + (0 if kept is None else kept.length)
    after = (model if kept is None else before).but(size=size, mtime_ns=mtime_ns)
    return AppendFile(path=path, before=before, after=after, content=content, reason="from the leader")


def _small(
    graft: Graft, name: str, data: bytes, model: Fingerprint, gone: set[str], reason: str
) -> ReplaceFile | AppendFile:
    """A file with these bytes: a new one, or in place of what will be there by then."""
    path = f"{graft.path}/{name}"
    if graft.target is not None and name in graft.target.entries and name not in gone:
        step = ReplaceFile.with_bytes(path, data, reason)
        return AppendFile.synced(path) if step.after == step.before else step
    return ReplaceFile.new(path, data, model, reason)


def _cooked(graft: Graft, step: ReplaceFile, recipe: str, base: int) -> Step:
    """The same without the bytes: `apply` computes them from the log that is there by then."""
    arguments: dict[str, object] = {"base_offset": base, "interval": graft.interval}
    return replace(
        step, content=None, recipe=recipe, arguments=arguments, log_dir=graft.log_dir.path,
        partition=graft.name,
    )  # fmt: skip
