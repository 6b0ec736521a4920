"""What the checks say of the dirs of a repair, as they are and as its steps will leave them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Final

from segmend.checks import CheckRun, Level, Wanted
from segmend.checks.runner import ONLY_AT_STARTUP
from segmend.checks.weighing.judge import judged
from segmend.findings import Finding, Severity
from segmend.frozen import replace
from segmend.surgery.ops.repair.options import Options
from segmend.surgery.planning.view import planned
from segmend.surgery.request import Request
from segmend.surgery.step import Step

THREADS: Final = len(os.sched_getaffinity(0))


def findings_of(request: Request[Options]) -> list[Finding]:
    """What the checks say, and what brokers up to 2.2 say of indexes while they load."""
    usual = CheckRun(
        request.broker,
        level=_level(request),
        wanted=Wanted(names=request.names),
        on_progress=request.on_progress,
        jobs=THREADS,
        effects=False,
    )
    startup = CheckRun(
        request.broker,
        level=Level.STARTUP,
        wanted=Wanted(names=request.names, only=ONLY_AT_STARTUP),
        effects=False,
    )
    return [*usual, *startup]


def _level(request: Request[Options]) -> Level:
    return Level.DEEP if request.options.is_deep else Level.DEFAULT


def with_steps(request: Request[Options], steps: Sequence[Step]) -> Request[Options]:
    """The dirs with these steps done."""
    return replace(request, broker=planned(request.broker, steps))


def grave(findings: Iterable[Finding], request: Request[Options], steps: Sequence[Step]) -> list[Finding]:
    """Those that are more than notes by what a start does about them, with what it does after `steps`.

    Without the steps for derived files a start meets what the plan never leaves: an index of the log before.
    Of what is a note by itself only the start after them says whether it is more.
    """
    every = [*findings]
    before = _explained(every, request)
    if not steps or all(finding.severity == Severity.INFO for finding in before):
        return [finding for finding in before if finding.severity != Severity.INFO]
    after = _explained(every, with_steps(request, steps))
    return [
        then for own, now, then in zip(every, before, after, strict=True)
        if now.severity != Severity.INFO and (then.severity != Severity.INFO or own.severity != Severity.INFO)
    ]  # fmt: skip


def _explained(findings: Iterable[Finding], request: Request[Options]) -> list[Finding]:
    return judged(findings, request.broker, _level(request))
