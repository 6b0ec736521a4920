"""What is damaged made anew from what is not: derived files, and header fields that the CRC proves.

The checks say what is damaged; only that is written. Indexes, producer snapshots, leader
epochs, checkpoints and topic ids come from the batches, as the same release writes them. In a
log only fields outside of the CRC are put right, where CRC or neighbours prove the value; no
record changes and nothing is lost. What the disk does not tell is left as it is, with the
reason and the next command.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from segmend.checks import Level, Wanted, run_checks
from segmend.errors import SegmendError
from segmend.findings import Finding, Severity
from segmend.logdir.tree import LogDir
from segmend.surgery import header_fields, planning, view
from segmend.surgery.made_for import MadeFor
from segmend.surgery.mending import Job, Scene
from segmend.surgery.mends import mends
from segmend.surgery.plan import Plan
from segmend.surgery.request import Request
from segmend.surgery.step import Step
from segmend.surgery.steps.replace_file import ReplaceFile

NAME = "repair"
HELP = "mend indexes, snapshots, epochs, checkpoints, topic ids and batch headers from what is sound"
EXAMPLES = """\
examples:
  segmend plan repair /data/a /data/b -o plan.json
  segmend plan repair /data/a/orders-3 -o plan.json          one partition
  segmend plan repair /data/a --kafka 1.1 -o plan.json       what that release would write"""

_ONLY_AT_STARTUP: Final = ("I25",)
_VIEW: Final = f"{view.SCHEME}://"


def configure(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("--deep", action="store_true", help="look at every CRC and every record")
    parser.add_argument(
        "--index-interval", metavar="BYTES", type=_bytes,
        help="index.interval.bytes (default: as the cluster's metadata or the sound indexes say)",
    )  # fmt: skip


def _bytes(value: str) -> int:
    if not value.isdecimal() or len(value) > 9:
        raise argparse.ArgumentTypeError(f"'{value}' is no number of bytes")
    return int(value)


def plan(request: Request) -> Plan:
    """The plan; without damage one without steps."""
    findings = _findings(request)
    left: list[str] = []
    logs = list(_log_steps(findings, left))
    if logs:
        # Derived files are made from the logs as these steps leave them.
        request, findings = _planned(request, logs)
    derived, notes = _derived(request, findings, left)
    left += [_left(finding) for finding in findings if _needs_more(finding)]
    return planning.make(
        NAME, _arguments(request), dirs=_real(request), given=request.given, release=request.release,
        steps=[*logs, *derived], notes=notes, left=[_shown(words) for words in left],
    )  # fmt: skip


def _findings(request: Request) -> list[Finding]:
    """What the checks say, and what brokers up to 2.2 say of indexes while they load."""
    usual = run_checks(
        request.dirs,
        level=Level.DEEP if request.args.deep else Level.DEFAULT,
        release=request.release,
        wanted=Wanted(names=request.names),
        on_progress=request.on_progress,
    )
    startup = run_checks(
        request.dirs,
        level=Level.STARTUP,
        release=request.release,
        wanted=Wanted(names=request.names, only=_ONLY_AT_STARTUP),
    )
    return [*usual, *startup]


def _log_steps(findings: Sequence[Finding], left: list[str]) -> Iterator[Step]:
    """Header fields put right, one a batch."""
    for finding in findings:
        if finding.code in header_fields.CODES:
            try:
                yield header_fields.patch(finding)
            except SegmendError as why:
                left.append(f"{_left(finding)} ({why})")


def _planned(request: Request, steps: Sequence[Step]) -> tuple[Request, list[Finding]]:
    """The dirs with these steps done, and what checks find then."""
    planned = view.mount()
    done = Plan(
        operation=NAME, arguments={}, release=request.release, steps=tuple(steps),
        dirs=tuple(MadeFor.of(log_dir.path) for log_dir in request.dirs),
    )  # fmt: skip
    planned.take(done)
    dirs = [LogDir.open(planned.seen(log_dir.path)) for log_dir in request.dirs]
    later = replace(request, dirs=dirs)
    return later, _findings(later)


def _real(request: Request) -> list[LogDir]:
    return [LogDir.open(_real_path(log_dir.path)) for log_dir in request.dirs]


def _real_path(path: str) -> str:
    return path.removeprefix(_VIEW)


def _shown(words: str) -> str:
    return words.replace(_VIEW, "")


def _derived(request: Request, findings: Sequence[Finding], left: list[str]) -> tuple[list[Step], list[str]]:
    """The steps for derived files, and what a person should know of them."""
    scene = Scene(request, findings)
    jobs: dict[str, Job] = {}
    reasons: dict[str, list[str]] = {}
    for finding in findings:
        try:
            for job in _jobs(finding, scene):
                jobs[job.path] = job
                reasons.setdefault(job.path, []).append(f"{finding.code} {finding.message}")
        except SegmendError as why:
            left.append(f"{finding.code} {finding.dir}/{finding.file}: {why}")
    steps: list[Step] = []
    for path, job in jobs.items():
        reason = "; ".join(dict.fromkeys(reasons[path]))
        try:
            step = _step(request, job, reason)
        except SegmendError as why:
            left.append(f"{path}: {reason}; it cannot be made anew: {why}")
            continue
        if step.before.sha256 != step.after.sha256:
            steps.append(step)
    return steps, _notes(request, jobs, steps)


def _jobs(finding: Finding, scene: Scene) -> Iterator[Job]:
    mend = mends().get(finding.code)
    return iter(()) if mend is None else mend(finding, scene)


def _step(request: Request, job: Job, reason: str) -> ReplaceFile:
    step = ReplaceFile.with_recipe(
        _real_path(job.path), job.recipe, _shown(reason), log_dir=job.log_dir, partition=job.partition,
        release=request.release, arguments=job.arguments,
    )  # fmt: skip
    return replace(step, log_dir=_real_path(job.log_dir.path))


def _needs_more(finding: Finding) -> bool:
    """Whether somebody has to do something else about it."""
    mended = finding.code in mends() or finding.code in header_fields.CODES
    return not mended and finding.severity != Severity.INFO


def _left(finding: Finding) -> str:
    """The finding, and the command that is next."""
    command = finding.remedy.command if finding.remedy else f"segmend explain {finding.code}"
    return f"{finding.code} {finding.dir}/{finding.file}: {finding.message}; next: {command}"


def _arguments(request: Request) -> dict[str, object]:
    interval = request.args.index_interval
    return {} if interval is None else {"index-interval": interval}


def _notes(request: Request, jobs: dict[str, Job], steps: Sequence[Step]) -> list[str]:
    paths = {step.paths[0] for step in steps}
    notes = [_shown(job.note) for path, job in jobs.items() if job.note and _real_path(path) in paths]
    clean = [each for each in _real(request) if not each.clean_shutdown.missing]
    here = [each for each in clean if any(path.startswith(f"{each.path}/") for path in paths)]
    return [*notes, *(f"{each.path}: {planning.MARKER_KEPT}" for each in here)]
