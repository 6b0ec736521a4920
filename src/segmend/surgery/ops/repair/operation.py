"""What is damaged made anew from what is not: derived files, and header fields that the CRC proves.

The checks say what is damaged; only that is written. Indexes, producer snapshots, leader
epochs, checkpoints and topic ids come from the batches, as the same release writes them. In a
log only fields outside of the CRC are put right, where CRC or neighbours prove the value, and
(`--from`) batches that another replica proves; nothing is lost. What cannot be had again is given
up only with `--blank`, by its figure. What the disk does not tell is left as it is, with the
reason and the next command.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from segmend.errors import SegmendError, UsageError
from segmend.findings import Finding
from segmend.frozen import dataclass, field
from segmend.grouping import grouped
from segmend.kernel.types import IndexRule
from segmend.logdir import disk
from segmend.logdir.log_segment import LogSegment
from segmend.surgery.boundaries import links
from segmend.surgery.derive.segment_indexes import rule_of
from segmend.surgery.derive.sources import scanned
from segmend.surgery.ops.repair import damaged_batches
from segmend.surgery.ops.repair.checking import THREADS, findings_of, grave, with_steps
from segmend.surgery.ops.repair.logs import ALWAYS, LogRepair, log_repair
from segmend.surgery.ops.repair.mends import mends
from segmend.surgery.ops.repair.options import Options
from segmend.surgery.ops.repair.scene import Scene
from segmend.surgery.options import arguments_of
from segmend.surgery.plan import Left, Plan
from segmend.surgery.planning import assembly
from segmend.surgery.planning.assembly import MARKER_KEPT, Draft
from segmend.surgery.recipes import Rebuild
from segmend.surgery.request import Request
from segmend.surgery.steps.replace_file import ReplaceFile
from segmend.threads import done_by

NAME = "repair"
EXAMPLES = """\
examples:
  segmend plan repair /data/a /data/b -o plan.json
  segmend plan repair /data/a/orders-3 -o plan.json          one partition
  segmend plan repair /data/a --kafka 1.1 -o plan.json       what that release would write
  segmend plan repair /data/a/orders-3 --from /mnt/b2/orders-3 -o plan.json
                                                             bad batches out of another replica
  segmend plan repair /data/a/orders-3 --from /mnt/b2/orders-3 --from /mnt/b3/orders-3 -o plan.json
  segmend plan repair /data/a --blank --accept-loss 7-records -o plan.json"""


def plan(request: Request[Options]) -> Plan:
    """The plan; without damage one without steps. Raises `UsageError` for a loss that was not accepted."""
    for source in request.options.from_:
        if disk.path_type(source) != "dir":
            raise UsageError(f"--from {source}: no such directory")
    read_ahead(request)
    findings = findings_of(request)
    logs, later = log_repair(request, findings), request
    if logs.steps:
        # Derived files are made from the logs as these steps leave them.
        later = with_steps(request, logs.steps)
        findings = findings_of(later)
        new = _come_to_light(findings, request.options, logs)
        again = {(left.code, left.path, left.position) for left in new}
        logs.left = [left for left in logs.left if (left.code, left.path, left.position) not in again] + new
    derived = derived_files(later, findings, logs.rewritten)
    steps = [*logs.steps, *derived.steps]
    dropped = links(steps)  # as `assembly.make` does
    kept = [step for number, step in enumerate(steps) if number not in dropped]
    needing_more = grave(_needing_more(findings, request.options), later, kept)
    unmoved = grave(derived.unmoved, later, kept)
    draft = Draft(
        steps=steps, losses=logs.losses, notes=list(_notes(request, derived)),
        left=[*logs.left, *derived.left, *map(_left, needing_more), *map(_beside_a_damaged_log, unmoved)],
    )  # fmt: skip
    return assembly.make(NAME, _arguments(request.options), request, draft, spare=True)


def _come_to_light(findings: Sequence[Finding], options: Options, logs: LogRepair) -> list[Left]:
    """Faults of logs that are seen, or perhaps can be mended, only after the steps for them."""
    changed = {step.paths[0] for step in logs.steps}
    told = {(left.code, left.path) for left in logs.left}
    new = []
    for finding in findings:
        left = left_by(finding, f"{finding.message}; apply this plan first, then plan again")
        again = finding.code in ALWAYS and left.path in changed
        wanted = finding.code in ALWAYS or damaged_batches.is_mended(finding, options)
        if again or (wanted and (left.code, left.path) not in told):
            new.append(left)
            told.add((left.code, left.path))
    return new


def _needing_more(findings: Sequence[Finding], options: Options) -> Iterator[Finding]:
    """Those about which somebody has to do something else, and was not told so yet."""
    told = mends().keys() | ALWAYS
    return (
        each for each in findings if each.code not in told and not damaged_batches.is_mended(each, options)
    )


def _left(finding: Finding) -> Left:
    """The finding, and the command that is next, or what becomes of it."""
    if finding.remedy is not None:
        return left_by(finding, finding.message, finding.remedy.command)
    effect = finding.broker_effect
    start = f"; the broker: {effect.text}" if effect is not None and effect.text else ""
    return left_by(finding, f"{finding.message}{start}", f"segmend explain {finding.code}")


def _beside_a_damaged_log(finding: Finding) -> Left:
    """A file that already is what the log gives: it is the log that is wrong, or another file."""
    why = f"{finding.message}; it already is what the sound batches give, so the log may be damaged"
    return left_by(finding, why, f"segmend check --deep {shlex.quote(finding.dir)}")


def _arguments(options: Options) -> dict[str, object]:
    arguments = arguments_of(options)
    if len(options.from_) == 1:
        arguments["from"] = options.from_[0]
    if options.accept_loss is not None:
        arguments["accept-loss"] = f"{options.accept_loss}-records"
    return arguments


def _notes(request: Request[Options], derived: DerivedFiles) -> Iterator[str]:
    yield from derived.notes
    for log_dir in request.dirs:
        here = any(step.paths[0].startswith(f"{log_dir.path}/") for step in derived.steps)
        if here and log_dir.is_clean:
            yield f"{log_dir.path}: {MARKER_KEPT}"
    if not request.options.is_deep:
        yield "not looked at: CRCs, records (--deep does)"


MOST: Final = 256
"""Scans of more logs might be forgotten before they are asked for."""


def read_ahead(request: Request[Options]) -> None:
    """Scan logs that lack an index; what cannot be read is left to those who report it."""
    done_by(THREADS, _scan, islice(_without_index(request), MOST))


def _scan(wanted: tuple[LogSegment, IndexRule]) -> None:
    segment, rule = wanted
    try:
        scanned(segment, rule)
    except SegmendError:
        return


def _without_index(request: Request[Options]) -> Iterator[tuple[LogSegment, IndexRule]]:
    scene = Scene(request, ())
    for partition in request.broker.partitions:
        layout = partition.layout
        bases = sorted(layout.logs.keys() - layout.index.keys())
        if bases and (not request.names or partition.name in request.names):
            try:
                rule = rule_of(request.release, scene.interval(partition))
            except SegmendError:
                continue
            yield from ((LogSegment(partition, base), rule) for base in bases)


@dataclass(slots=True)
class DerivedFiles:
    """The steps, what to know of them, what is left as it is, and findings that stay all the same."""

    steps: list[ReplaceFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    left: list[Left] = field(default_factory=list)
    unmoved: list[Finding] = field(default_factory=list)


@dataclass(slots=True)
class _Wanted:
    """A file that is to be made anew, and the findings that say so."""

    rebuild: Rebuild
    findings: list[Finding] = field(default_factory=list)

    def reason(self, rewritten: frozenset[str]) -> str:
        """For the plan. `rewritten` are the logs in which batches move, by path without `.log`."""
        if self.rebuild.path.rpartition(".")[0] in rewritten:
            return "its log is rewritten"
        return "; ".join(dict.fromkeys(f"{each.code} {each.message}" for each in self.findings))

    def step(self, request: Request[Options], rewritten: frozenset[str]) -> ReplaceFile | Left:
        reason = self.reason(rewritten)
        try:
            return ReplaceFile.with_recipe(self.rebuild, reason, request.release)
        except SegmendError as why:
            return Left(why=f"{reason}; it cannot be made anew: {why}", path=self.rebuild.path)


def derived_files(
    request: Request[Options], findings: Sequence[Finding], rewritten: frozenset[str]
) -> DerivedFiles:
    """What follows from these findings; `rewritten` as in `reason`."""
    derived = DerivedFiles()
    wanted: dict[str, _Wanted] = {}
    mended: list[tuple[Finding, set[str]]] = []
    scene = Scene(request, findings)
    for finding in findings:
        try:
            rebuilds = {each.path: each for each in _rebuilds(finding, scene)}
        except SegmendError as why:
            derived.left.append(left_by(finding, str(why)))
            continue
        for path, rebuild in rebuilds.items():
            # The last finding of a file says how it is made.
            wanted.setdefault(path, _Wanted(rebuild)).rebuild = rebuild
            wanted[path].findings.append(finding)
        mended.append((finding, {*rebuilds}))
    changed = set()
    for path, made in _made(request, wanted, rewritten).items():
        if isinstance(made, Left):
            derived.left.append(made)
        elif made.before.sha256 == made.after.sha256:
            continue
        else:
            derived.steps.append(made)
            derived.notes += [note] if (note := wanted[path].rebuild.note) else []
        changed.add(path)
    derived.unmoved = [each for each, paths in mended if each.code in mends() and changed.isdisjoint(paths)]
    return derived


def _rebuilds(finding: Finding, scene: Scene) -> Iterator[Rebuild]:
    mend = mends().get(finding.code)
    return iter(()) if mend is None else mend(finding, scene)


def _made(
    request: Request[Options], wanted: Mapping[str, _Wanted], rewritten: frozenset[str]
) -> dict[str, ReplaceFile | Left]:
    """A thread takes the files of a segment, which share a pass over its log."""
    stems = grouped(wanted, lambda path: path.rpartition(".")[0])

    def of_segment(stem: str) -> list[tuple[str, ReplaceFile | Left]]:
        return [(path, wanted[path].step(request, rewritten)) for path in stems[stem]]

    made = dict(row for rows in done_by(THREADS, of_segment, stems) for row in rows)
    return {path: made[path] for path in wanted}


def left_by(finding: Finding, why: str, next: str | None = None) -> Left:
    path, position = f"{finding.dir}/{finding.file}", finding.position
    return Left(why=why, code=finding.code, path=path, position=position, next=next)
