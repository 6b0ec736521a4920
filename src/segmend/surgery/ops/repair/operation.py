"""What is damaged made anew from what is not: derived files, and header fields that the CRC proves.

The checks say what is damaged; only that is written. Indexes, producer snapshots, leader
epochs, checkpoints and topic ids come from the batches, as the same release writes them. In a
log only fields outside of the CRC are put right, where CRC or neighbours prove the value, and
(`--from`) batches that another replica proves; nothing is lost. What cannot be had again is given
up only with `--blank`, by its figure. What the disk does not tell is left as it is, with the
reason and the next command.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final

from segmend.checks import CheckRun, Level, Wanted
from segmend.checks.effects import BrokerEffects
from segmend.errors import SegmendError, UsageError
from segmend.findings import Finding, Severity
from segmend.logdir import disk
from segmend.surgery.boundaries import links
from segmend.surgery.ops.repair import damaged_batches
from segmend.surgery.ops.repair.logs import ALWAYS, LogRepair, log_repair
from segmend.surgery.ops.repair.mends import mends
from segmend.surgery.ops.repair.options import Options
from segmend.surgery.ops.repair.reading_ahead import read_ahead
from segmend.surgery.ops.repair.scene import Rebuild, Scene
from segmend.surgery.options import given_in
from segmend.surgery.plan import Left, Plan
from segmend.surgery.planning import assembly
from segmend.surgery.planning.view import planned
from segmend.surgery.request import Request
from segmend.surgery.step import Step
from segmend.surgery.steps.replace_file import ReplaceFile

NAME = "repair"
EXAMPLES = """\
examples:
  segmend plan repair /data/a /data/b -o plan.json
  segmend plan repair /data/a/orders-3 -o plan.json          one partition
  segmend plan repair /data/a --kafka 1.1 -o plan.json       what that release would write
  segmend plan repair /data/a/orders-3 --from /mnt/b2/orders-3 -o plan.json
                                                             bad batches out of another replica
  segmend plan repair /data/a --blank --accept-loss 7-records -o plan.json"""

_ONLY_AT_STARTUP: Final = ("I25",)


def plan(request: Request[Options]) -> Plan:
    """The plan; without damage one without steps. Raises `UsageError` for a loss that was not accepted."""
    source = request.options.from_
    if source is not None and disk.path_type(source) != "dir":
        raise UsageError(f"--from {source}: no such directory")
    read_ahead(request, _threads())
    findings = _findings(request)
    logs, real = log_repair(request, findings), request
    left = logs.left
    if logs.steps:
        # Derived files are made from the logs as these steps leave them.
        request = _later(request, logs.steps)
        findings = _findings(request)
        left += _come_to_light(request, findings, logs)
    derived, notes, unmoved = _derived(request, findings, left, logs.rewritten)
    steps = [*logs.steps, *derived]
    dropped = links(steps)  # as `assembly.make` does
    kept = [step for number, step in enumerate(steps) if number not in dropped]
    left += [_left(finding) for finding in _grave(_needing_more(findings, request), request, kept)]
    left += [_beside_a_damaged_log(finding) for finding in _grave(unmoved, request, kept)]
    return assembly.make(
        NAME, _arguments(request.options), broker=real.broker, given=request.given,
        steps=steps, losses=logs.losses, notes=[*notes, *_not_looked_at(request)],
        left=left, spare=True,
    )  # fmt: skip


def _findings(request: Request[Options]) -> list[Finding]:
    """What the checks say, and what brokers up to 2.2 say of indexes while they load."""
    usual = CheckRun(
        request.broker,
        level=_level(request),
        wanted=Wanted(names=request.names),
        on_progress=request.on_progress,
        jobs=_threads(),
        effects=False,
    )
    startup = CheckRun(
        request.broker,
        level=Level.STARTUP,
        wanted=Wanted(names=request.names, only=_ONLY_AT_STARTUP),
        effects=False,
    )
    return [*usual, *startup]


def _level(request: Request[Options]) -> Level:
    return Level.DEEP if request.options.is_deep else Level.DEFAULT


def _not_looked_at(request: Request[Options]) -> list[str]:
    return [] if _level(request) == Level.DEEP else ["not looked at: CRCs, records (--deep does)"]


def _later(request: Request[Options], steps: Sequence[Step]) -> Request[Options]:
    """The dirs with these steps done, all that there are so far."""
    return replace(request, broker=planned(request.broker, steps))


def _come_to_light(request: Request[Options], findings: Sequence[Finding], logs: LogRepair) -> Iterator[Left]:
    """Faults of logs that are seen, or perhaps can be mended, only after these steps."""
    changed = {step.paths[0] for step in logs.steps}
    wanted = damaged_batches.CODES if request.options.mends_batches else frozenset()
    for finding in findings:
        path = f"{finding.dir}/{finding.file}"
        told = (finding.code, path) in {(left.code, left.path) for left in logs.left}
        again = finding.code in ALWAYS and path in changed
        if again or (finding.code in ALWAYS | wanted and not told):
            why = f"{finding.message}; apply this plan first, then plan again"
            yield Left(why=why, code=finding.code, path=path)


def _derived(
    request: Request[Options], findings: Sequence[Finding], left: list[Left], rewritten: frozenset[str]
) -> tuple[list[Step], list[str], list[Finding]]:
    """The steps for derived files, what a person should know of them, and findings that stay all the same."""
    scene = Scene(request, findings)
    jobs: dict[str, Rebuild] = {}
    wanted: list[tuple[Finding, list[str]]] = []
    for finding in findings:
        try:
            found = {job.path: job for job in _jobs(finding, scene)}
        except SegmendError as why:
            left.append(_left_by(finding, str(why)))
            continue
        jobs |= found
        wanted.append((finding, list(found)))
    made = _made(request, jobs, _reasons(wanted, rewritten))
    left += [found for found in made.values() if isinstance(found, Left)]
    steps = {path: step for path, step in made.items() if isinstance(step, ReplaceFile) and _changes(step)}
    told = {path for path in made if path in steps or isinstance(made[path], Left)}
    unmoved = [finding for finding, paths in wanted if finding.code in mends() and told.isdisjoint(paths)]
    return list(steps.values()), _notes(request, jobs, list(steps.values())), unmoved


def _changes(step: ReplaceFile) -> bool:
    return step.before.sha256 != step.after.sha256


def _left_by(finding: Finding, why: str, next: str | None = None) -> Left:
    return Left(why=why, code=finding.code, path=f"{finding.dir}/{finding.file}", next=next)


def _beside_a_damaged_log(finding: Finding) -> Left:
    """A file that already is what the log gives: it is the log that is wrong, or another file."""
    why = f"{finding.message}; it already is what the sound batches give, so the log may be damaged"
    return _left_by(finding, why, f"segmend check --deep {finding.dir}")


def _reasons(wanted: Sequence[tuple[Finding, Sequence[str]]], rewritten: frozenset[str]) -> dict[str, str]:
    """Why each file is made anew."""
    said: dict[str, list[str]] = {}
    for finding, paths in wanted:
        for path in paths:
            said.setdefault(path, []).append(f"{finding.code} {finding.message}")
    return {path: _reason(path, words, rewritten) for path, words in said.items()}


def _reason(path: str, said: Sequence[str], rewritten: frozenset[str]) -> str:
    if path.rpartition(".")[0] in rewritten:
        return "its log is rewritten"
    return "; ".join(dict.fromkeys(said))


def _made(
    request: Request[Options], jobs: Mapping[str, Rebuild], reasons: Mapping[str, str]
) -> dict[str, ReplaceFile | Left]:
    """A step a job, or why there is none. A thread takes the files of a segment, which share a pass."""

    def of_segment(stem: str) -> dict[str, ReplaceFile | Left]:
        return {path: _step(request, jobs[path], reasons[path]) for path in stems[stem]}

    stems: dict[str, list[str]] = {}
    for path in jobs:
        stems.setdefault(path.rpartition(".")[0], []).append(path)
    with ThreadPoolExecutor(_threads()) as pool:
        found = {path: step for part in pool.map(of_segment, stems) for path, step in part.items()}
    return {path: found[path] for path in jobs}


def _threads() -> int:
    return len(os.sched_getaffinity(0))


def _jobs(finding: Finding, scene: Scene) -> Iterator[Rebuild]:
    mend = mends().get(finding.code)
    return iter(()) if mend is None else mend(finding, scene)


def _step(request: Request[Options], job: Rebuild, reason: str) -> ReplaceFile | Left:
    try:
        return ReplaceFile.with_recipe(
            job.path, job.recipe, reason, log_dir=job.log_dir, partition=job.partition,
            release=request.release, arguments=job.arguments,
        )  # fmt: skip
    except SegmendError as why:
        return Left(why=f"{reason}; it cannot be made anew: {why}", path=job.path)


def _needing_more(findings: Sequence[Finding], request: Request[Options]) -> Iterator[Finding]:
    """Those about which somebody has to do something else, and was not told so yet."""
    for finding in findings:
        told = finding.code in mends() or finding.code in ALWAYS
        if not (told or (request.options.mends_batches and finding.code in damaged_batches.CODES)):
            yield finding


def _grave(findings: Iterable[Finding], request: Request[Options], steps: Sequence[Step]) -> list[Finding]:
    """Those that are more than notes, by what a start does about them; of notes, the start after `steps`."""
    found = [*findings]
    explained = _explained(found, request)
    raised = {
        number for number, finding in enumerate(found)
        if Severity.INFO == finding.severity != explained[number].severity
    }  # fmt: skip
    if raised and steps:
        for number, finding in enumerate(_explained(found, _later(request, steps))):
            if number in raised:
                explained[number] = finding
    return [finding for finding in explained if finding.severity != Severity.INFO]


def _explained(findings: Iterable[Finding], request: Request[Options]) -> list[Finding]:
    effects = BrokerEffects(request.broker, _level(request))
    return [effects.explained(finding) for finding in findings]


def _left(finding: Finding) -> Left:
    """The finding, and the command that is next, or what becomes of it."""
    if finding.remedy is not None:
        return _left_by(finding, finding.message, finding.remedy.command)
    effect = finding.broker_effect
    start = f"; the broker: {effect.text}" if effect is not None and effect.text else ""
    return _left_by(finding, f"{finding.message}{start}", f"segmend explain {finding.code}")


def _arguments(options: Options) -> dict[str, object]:
    found = {name.rstrip("_").replace("_", "-"): value for name, value in given_in(options)}
    if options.accept_loss is not None:
        found["accept-loss"] = f"{options.accept_loss}-records"
    return found


def _notes(request: Request[Options], jobs: dict[str, Rebuild], steps: Sequence[Step]) -> list[str]:
    paths = {step.paths[0] for step in steps}
    notes = [job.note for path, job in jobs.items() if job.note and path in paths]
    clean = [each for each in request.dirs if each.is_clean]
    here = [each for each in clean if any(path.startswith(f"{each.path}/") for path in paths)]
    return [*notes, *(f"{each.path}: {assembly.MARKER_KEPT}" for each in here)]
