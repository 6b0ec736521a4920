"""The steps that leave a node with one snapshot and one run of the log: its own, or those of another node.

Where it has them itself, only what is in the way goes: damaged snapshots that are newer, and the log before
the run, which the snapshot covers. `quorum-state` is never touched here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from segmend.broker.metadata_log import METADATA_TOPIC_ID
from segmend.formats import epoch_checkpoint, partition_metadata, quorum_state
from segmend.formats.epoch_checkpoint import EpochCheckpoint, EpochEntry
from segmend.formats.names import CLUSTER_METADATA, file_prefix
from segmend.formats.partition_metadata import PartitionMetadata
from segmend.frozen import frozen
from segmend.logdir.log_dir import LogDir
from segmend.logdir.log_segment import LogSegment
from segmend.logdir.partition_dir import PartitionDir
from segmend.logdir.release import Release
from segmend.node.metadata_copy import MetadataCopy, MetadataRun, MetadataStanding, SoundBytes
from segmend.surgery.fingerprint import MISSING, Fingerprint, hash_bytes, look
from segmend.surgery.recipes import OF_INDEXES, Rebuild
from segmend.surgery.step import Step
from segmend.surgery.steps.append_file import AppendFile
from segmend.surgery.steps.cut_file import CutFile
from segmend.surgery.steps.make_dir import MakeDir
from segmend.surgery.steps.quarantine import Quarantine
from segmend.surgery.steps.replace_file import ReplaceFile

_INTERVAL: Final = 4096
"""index.interval.bytes, which the metadata log has as by default."""


@frozen
class Ending:
    """Where the log will end: the file, what it will be by then (`MISSING`: it is not there), the offset.

    `like` is what a new file is to be.
    """

    path: str
    file: Fingerprint
    like: Fingerprint
    offset: int


def model(home: LogDir) -> Fingerprint:
    """Owner and mode that new files are to have: those of meta.properties."""
    fingerprint = look(f"{home.path}/meta.properties", content=False)
    if fingerprint.kind == "file":
        return Fingerprint(kind="file", mode=fingerprint.mode, uid=fingerprint.uid, gid=fingerprint.gid)
    around = look(home.path, content=False)
    return Fingerprint(kind="file", mode=0o644, uid=around.uid, gid=around.gid)


def kept(copy: MetadataCopy, standing: MetadataStanding, cut: str | None) -> Iterator[Step]:
    """Of its own copy, all but the standing set aside; what follows its end is cut off if `cut` says why."""
    path = copy.partition.path
    base = -1 if standing.snapshot is None else standing.snapshot.end
    for snapshot in copy.snapshots:
        if snapshot.end > base or (snapshot.damage is not None and snapshot.end == base):
            why = "not covered by the log" if snapshot.damage is None else f"damaged: {snapshot.damage[1]}"
            yield Quarantine.of(f"{path}/{snapshot.file.name}", why)
    run = standing.run
    if run is None:
        yield from _aside(copy.partition.segments, "its newest snapshot goes further than the log")
        return
    if run.parts and run is not copy.runs[0]:
        # The run's first segment without what comes before it, and nothing of the segments before that.
        why = f"damaged, and covered by the snapshot up to offset {base}"
        if run.parts[0].start:
            yield _copied(copy.partition.path, run.parts[0], model(copy.partition.log_dir))
        before = [each for each in copy.partition.segments if each.base_offset < run.parts[0].offset]
        yield from _aside(before, why)
    if cut is not None:
        yield from _cut_off(copy.partition, run, cut, to_the_end=run is copy.runs[-1])
    if run is not copy.runs[-1]:
        end = run.parts[-1].file.name if run.parts else ""
        behind = [each for each in copy.partition.segments if each.name > end]
        yield from _aside(behind, f"behind damage: the log ends at offset {run.end}")


def _cut_off(partition: PartitionDir, run: MetadataRun, why: str, *, to_the_end: bool) -> Iterator[Step]:
    """What follows the run in its last segment, and (`to_the_end`) in an active one without any of it."""
    last = run.parts[-1] if run.parts else None
    if last is not None and last.start == 0 and last.file.size > last.stop:
        yield CutFile.to(last.file.path, last.stop, why)
    active = partition.segments[-1]
    if to_the_end and active.log is not None and active.base_offset == run.end and active.log.size:
        yield CutFile.to(active.log.path, 0, why)


def _aside(segments: Sequence[LogSegment], why: str) -> Iterator[Step]:
    yield from (Quarantine.of(file.path, why) for segment in segments for file in segment.files)


def emptied(partition: PartitionDir | None, home: LogDir) -> Iterator[Step]:
    """The directory without all but quorum-state; made if it is not there."""
    path = f"{home.path}/{CLUSTER_METADATA}"
    if partition is None:
        yield MakeDir.like(path, home.path, "of the cluster's metadata")
        return
    for name in sorted(partition.entries):
        if not name.startswith(quorum_state.FILE_NAME):
            yield Quarantine.of(f"{path}/{name}", "replaced by another node's")


def taken(home: LogDir, standing: MetadataStanding) -> Iterator[Step]:
    """The snapshot and the run of another node's copy, in the emptied directory."""
    path, like = f"{home.path}/{CLUSTER_METADATA}", model(home)
    topic_id = partition_metadata.render(PartitionMetadata(topic_id=METADATA_TOPIC_ID))
    yield ReplaceFile.new(
        f"{path}/{partition_metadata.FILE_NAME}", topic_id, like, "the topic id of the metadata"
    )
    if standing.snapshot is not None:
        file = standing.snapshot.file
        dressed = like.but(mode=file.stat().mode & 0o7777)
        yield AppendFile.copied(f"{path}/{file.name}", file, dressed, "the newest snapshot")
    run = standing.run or MetadataRun(standing.position[1], standing.position[1])
    entries = tuple(EpochEntry(epoch, offset) for epoch, offset in sorted(run.epochs.items()))
    epochs = epoch_checkpoint.render(EpochCheckpoint(entries=entries))
    yield ReplaceFile.new(f"{path}/{epoch_checkpoint.FILE_NAME}", epochs, like, "leader epochs of this log")
    for part in run.parts:
        yield _copied(path, part, like)


def _copied(path: str, part: SoundBytes, like: Fingerprint) -> Step:
    name, reason = f"{path}/{file_prefix(part.offset)}.log", f"the log from offset {part.offset} on"
    return AppendFile.copied(name, part.file, like, reason, part.start, part.stop)


def ending(home: LogDir, standing: MetadataStanding, own: MetadataCopy | None) -> Ending:
    """Where the log will go on after the steps above, of its own copy or of another one (None).

    In a segment of its own, so that no file is changed; if one of that name stays, it is empty by then.
    """
    path, offset, like = f"{home.path}/{CLUSTER_METADATA}", standing.position[1], model(home)
    file, run = f"{path}/{file_prefix(offset)}.log", standing.run
    stays = (
        own is not None and offset in own.partition.layout.logs and run is not None and run is own.runs[-1]
    )
    before = look(file, content=False).but(size=0) if stays else MISSING
    return Ending(path=file, file=before, like=before if stays else like, offset=offset)


def indexes(home: LogDir, after: LogDir, steps: Sequence[Step], release: Release) -> Iterator[Step]:
    """The indexes of new logs; `after` is the home as the steps leave it. A start makes them anew as well."""
    partition = PartitionDir.forced(after, CLUSTER_METADATA)
    new = {step.path for step in steps if isinstance(step, AppendFile) and step.before.kind == "missing"}
    for base, name in sorted(partition.layout.logs.items()):
        path = f"{home.path}/{CLUSTER_METADATA}/{name}"
        for suffix, recipe in OF_INDEXES.items() if path in new else ():
            file = f"{file_prefix(base)}.{suffix}"
            made = Rebuild.within(partition, file, recipe, base_offset=base, interval=_INTERVAL)
            data = made.build(release)
            after_it = model(home).but(size=len(data), sha256=hash_bytes(data))
            yield ReplaceFile(
                path=f"{home.path}/{CLUSTER_METADATA}/{file}", before=MISSING, after=after_it,
                reason="entries of this log", recipe=recipe, arguments=made.arguments, log_dir=home.path,
                partition=CLUSTER_METADATA,
            )  # fmt: skip
