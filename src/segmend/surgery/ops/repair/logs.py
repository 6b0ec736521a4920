"""What `plan repair` does to logs: proven header fields, batches of another replica, empty batches."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from segmend.checks import remedies
from segmend.errors import SegmendError, UsageError
from segmend.findings import Finding
from segmend.frozen import dataclass, field
from segmend.logdir import disk
from segmend.logdir.log_dir import LogDir
from segmend.logdir.log_segment import LogSegment
from segmend.logdir.partition_dir import PartitionDir
from segmend.surgery.derive.sources import log_of, segment_of
from segmend.surgery.ops.repair import damaged_batches, header_fields
from segmend.surgery.ops.repair.blanking import Blank, blank_of, by_log, second_copy
from segmend.surgery.ops.repair.damaged_batches import TORN, Region, batches_of, is_mended, region_of
from segmend.surgery.ops.repair.options import Options
from segmend.surgery.ops.repair.scene import BeyondRepair, Scene
from segmend.surgery.ops.repair.transplant import rejoin, transplant
from segmend.surgery.plan import Left, Loss
from segmend.surgery.planning import accepted_loss
from segmend.surgery.planning.linked import left_in_a_link
from segmend.surgery.recipes import Rebuild
from segmend.surgery.request import Request
from segmend.surgery.step import Step
from segmend.surgery.steps.patch_file import PatchFile
from segmend.surgery.steps.replace_file import ReplaceFile

SECOND_COPY: Final = "L16"
ALWAYS: Final = header_fields.CODES | {SECOND_COPY}
"""What is mended without being asked: nothing is lost by it."""


@dataclass(slots=True)
class LogRepair:
    """The steps, what they lose, and why something is not mended, by finding."""

    steps: list[Step] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)

    @property
    def rewritten(self) -> frozenset[str]:
        """The logs in which batches move, by path without `.log`."""
        return frozenset(
            step.path.removesuffix(".log") for step in self.steps if isinstance(step, ReplaceFile)
        )


def log_repair(request: Request[Options], findings: Sequence[Finding]) -> LogRepair:
    """Raises `UsageError` if the loss is not the one that was accepted."""
    if request.options.accept_loss is not None and not request.options.blank:
        raise UsageError("--accept-loss: nothing is lost without --blank")
    mended = LogRepair()
    scene = Scene(request, findings)
    blanks = [*_apart([blank for finding in findings for blank in _mend(finding, scene, mended)], mended)]
    mended.steps = _disjoint(mended.steps)
    patched = {step.paths[0] for step in mended.steps}
    later = [blank for blank in blanks if blank.region.path in patched]
    mended.left += [_left(blank.region, "apply this plan first, then plan again") for blank in later]
    now = [blank for blank in blanks if blank not in later]
    mended.steps += _rewritten(request, _agreed(request, now, mended))
    return mended


def _disjoint(steps: Sequence[Step]) -> list[Step]:
    """Without patches of bytes that a larger one writes: of findings that touch each has all mended."""
    patches: dict[str, list[PatchFile]] = {}
    for step in sorted(
        (step for step in steps if isinstance(step, PatchFile)), key=lambda each: -each.content.length
    ):
        taken = patches.setdefault(step.path, [])
        end = step.position + step.content.length
        if all(
            end <= other.position or other.position + other.content.length <= step.position for other in taken
        ):
            taken.append(step)
    kept = {id(step) for taken in patches.values() for step in taken}
    return [step for step in steps if not isinstance(step, PatchFile) or id(step) in kept]


def _mend(finding: Finding, scene: Scene, mended: LogRepair) -> list[Blank]:
    """A step of its own, or the empty batches where they are wanted and nothing better is there."""
    path, wanted = f"{finding.dir}/{finding.file}", is_mended(finding, scene.request.options)
    left = partial(Left, code=finding.code, path=path, position=finding.position)
    try:
        if (finding.code in ALWAYS or wanted) and (linked := _linked(finding, scene)):
            mended.left.append(linked)
        elif finding.code in header_fields.CODES:
            mended.steps.append(header_fields.patch(finding))
        elif finding.code == SECOND_COPY:
            return [second_copy(_segment(finding, scene), finding.position or 0)]
        elif finding.code in damaged_batches.CODES and wanted:
            region = region_of(finding, scene.partition(finding))
            steps = _transplanted(finding, region, scene, mended)
            if not steps:
                return _blanks(region, scene.request) if scene.request.options.blank else []
            mended.steps += steps
        elif wanted:
            region = region_of(finding, scene.partition(finding))
            if region.wanted_to is None or region.wanted_to < region.first_offset:
                raise BeyondRepair(f"{finding.message}; segmend plan trim takes them off")
            mended.steps += _transplanted(finding, region, scene, mended)
    except SegmendError as refused:
        mended.left.append(left(why=str(refused)))
    return []


def _linked(finding: Finding, scene: Scene) -> Left | None:
    return left_in_a_link(
        scene.partition(finding), finding.name, finding.message, code=finding.code, position=finding.position
    )


def _blanks(region: Region, request: Request[Options]) -> list[Blank]:
    """The empty batches; raises `BeyondRepair` with what is left to do where there is none."""
    try:
        return [blank_of(each) for each in batches_of(region)]
    except BeyondRepair as why:
        hint = "; another replica may have it: --from REPLICA_DIR" if not request.options.from_ else ""
        cut = f"segmend plan trim {shlex.quote(region.segment.partition.path)}"
        raise BeyondRepair(f"{why}{hint}; to cut the segment off there: {cut}") from None


def _transplanted(finding: Finding, region: Region, scene: Scene, mended: LogRepair) -> Sequence[Step]:
    sources = scene.request.options.from_
    if not sources:
        return ()
    home = region.segment.partition
    others: list[PartitionDir] = []
    try:
        others += [_replica(source, home) for source in sources]
        bring = rejoin if finding.code in TORN else transplant
        return bring(region, others, f"{finding.code} {finding.message}")
    except SegmendError as why:
        named = [home.log_dir.path, home.name, *(other.path for other in others)]
        merge = remedies.merge(*named).command if others and not scene.request.options.blank else None
        mended.left.append(_left(region, str(why), merge))
        return ()


def _replica(source: str, partition: PartitionDir) -> PartitionDir:
    """The replica in `source`, a partition directory or a log dir with one of that name."""
    real = disk.real_path(source)
    if real == partition.path or real == partition.log_dir.path:
        raise UsageError(f"--from {source}: is the directory that is to be repaired")
    parent, _, name = real.rpartition("/")
    if name == partition.name:
        return PartitionDir.forced(LogDir.open(parent or "/"), name)
    inside = LogDir.open(real).partition(partition.name)
    if inside is None:
        raise BeyondRepair(f"{source} has no {partition.name}")
    return inside


def _segment(finding: Finding, scene: Scene) -> LogSegment:
    return segment_of(scene.partition(finding), int(finding.name.partition(".")[0]))


def _apart(blanks: Sequence[Blank], mended: LogRepair) -> Iterator[Blank]:
    """Without those whose bytes or offsets are also another one's, as headers in a run of damage may say."""
    for mine in by_log(blanks).values():
        last: Blank | None = None
        for blank in mine:
            over = last is not None and (
                blank.region.position < last.region.end
                or (blank.records and last.records and blank.first_offset <= last.last_offset)
            )
            if over:
                mended.left.append(
                    _left(blank.region, "the damage beside it does not tell which offsets it had")
                )
                continue
            last = blank
            yield blank


def _agreed(request: Request[Options], blanks: Sequence[Blank], mended: LogRepair) -> list[Blank]:
    """Those that lose nothing, and the others if their records were given up."""
    agreed = request.options.accept_loss
    lossy = [blank for blank in blanks if blank.records]
    total = sum(blank.records for blank in lossy)
    accepted_loss.refuse_other_figure(agreed, total)
    if agreed is not None:
        mended.losses += [blank.loss() for blank in lossy]
        return list(blanks)
    mended.left += [
        _left(
            blank.region,
            f"{blank.records} records, offsets {blank.first_offset} to {blank.last_offset}; another replica "
            f"may have them: --from REPLICA_DIR; to give them up: --blank --accept-loss {total}-records",
        )
        for blank in lossy
    ]
    return [blank for blank in blanks if not blank.records]


def _rewritten(request: Request[Options], blanks: Sequence[Blank]) -> Iterator[Step]:
    for mine in by_log(blanks).values():
        segment = mine[0].region.segment
        made = Rebuild.within(
            segment.partition, log_of(segment).name, "log-with-blanks",
            base_offset=segment.base_offset, blanks=[blank.argument() for blank in mine],
        )  # fmt: skip
        codes = ", ".join(sorted({blank.region.code for blank in mine}))
        yield ReplaceFile.with_recipe(made, codes, request.release)


def _left(region: Region, why: str, next: str | None = None) -> Left:
    return Left(why=why, code=region.code, path=region.path, position=region.position, next=next)
