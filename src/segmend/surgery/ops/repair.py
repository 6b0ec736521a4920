"""Derived files made anew: indexes, producer snapshots, leader epochs, checkpoints, topic ids.

The checks say what is damaged; only that is written, from the batches, as the same release
writes it. No byte of a log changes and nothing is lost. What the disk does not tell is left as
it is, with the reason and the next command.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Final

from segmend.checks import Level, Wanted, run_checks
from segmend.errors import SegmendError
from segmend.findings import Finding, Severity
from segmend.logdir.disk import Unreadable
from segmend.surgery import planning
from segmend.surgery.mending import Job, Scene
from segmend.surgery.mends import mends
from segmend.surgery.plan import Plan
from segmend.surgery.request import Request
from segmend.surgery.step import Step
from segmend.surgery.steps.replace_file import ReplaceFile

NAME = "repair"
HELP = "make damaged indexes, snapshots, epochs, checkpoints and topic ids anew from the logs"
EXAMPLES = """\
examples:
  segmend plan repair /data/a /data/b -o plan.json
  segmend plan repair /data/a/orders-3 -o plan.json          one partition
  segmend plan repair /data/a --kafka 1.1 -o plan.json       what that release would write"""

_ONLY_AT_STARTUP: Final = ("I25",)


def configure(parser: argparse.ArgumentParser) -> None:
    """The options."""
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
    scene = Scene(request, findings)
    jobs: dict[str, Job] = {}
    reasons: dict[str, list[str]] = {}
    left: list[str] = []
    for finding in findings:
        try:
            for job in _jobs(finding, scene):
                jobs[job.path] = job
                reasons.setdefault(job.path, []).append(f"{finding.code} {finding.message}")
        except SegmendError as why:
            left.append(f"{finding.code} {finding.dir}/{finding.file}: {why}")
    steps = list(_steps(request, jobs, reasons, left))
    left += [_left(finding) for finding in findings if _needs_more(finding)]
    return planning.make(
        NAME, _arguments(request), dirs=request.dirs, given=request.given, release=request.release,
        steps=steps, notes=_notes(request, jobs, steps), left=left,
    )  # fmt: skip


def _findings(request: Request) -> list[Finding]:
    """What the checks say, and what brokers up to 2.2 say of indexes while they load."""
    deep = run_checks(
        request.dirs,
        level=Level.DEFAULT,
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
    return [*deep, *startup]


def _jobs(finding: Finding, scene: Scene) -> Iterator[Job]:
    mend = mends().get(finding.code)
    return iter(()) if mend is None else mend(finding, scene)


def _steps(
    request: Request, jobs: dict[str, Job], reasons: dict[str, list[str]], left: list[str]
) -> Iterator[Step]:
    """One a file; a recipe that cannot be followed leaves the file as it is."""
    for path, job in jobs.items():
        reason = "; ".join(dict.fromkeys(reasons[path]))
        try:
            step = ReplaceFile.with_recipe(
                path, job.recipe, reason, log_dir=job.log_dir, partition=job.partition,
                release=request.release, arguments=job.arguments,
            )  # fmt: skip
        except (SegmendError, Unreadable) as why:
            left.append(f"{path}: {reason}; it cannot be made anew: {why}")
            continue
        if step.before.sha256 != step.after.sha256:
            yield step


def _needs_more(finding: Finding) -> bool:
    """Whether somebody has to do something else about it."""
    return finding.code not in mends() and finding.severity != Severity.INFO


def _left(finding: Finding) -> str:
    """The finding, and the command that is next."""
    command = finding.remedy.command if finding.remedy else f"segmend explain {finding.code}"
    return f"{finding.code} {finding.dir}/{finding.file}: {finding.message}; next: {command}"


def _arguments(request: Request) -> dict[str, object]:
    interval = request.args.index_interval
    return {} if interval is None else {"index-interval": interval}


def _notes(request: Request, jobs: dict[str, Job], steps: Sequence[Step]) -> list[str]:
    paths = {step.paths[0] for step in steps}
    notes = [job.note for path, job in jobs.items() if job.note and path in paths]
    clean = [each for each in request.dirs if not each.clean_shutdown.missing]
    here = [each for each in clean if any(path.startswith(f"{each.path}/") for path in paths)]
    return [*notes, *(f"{each.path}: {planning.MARKER_KEPT}" for each in here)]
