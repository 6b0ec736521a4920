"""The time of a start for people and as JSON: by part, by threads, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from segmend.explain.disk_speed import Speed
from segmend.explain.rolling_restart import PERIOD_SECONDS, SAFETY, Bounce, Probe
from segmend.explain.startup import CASES, THREADS, Study
from segmend.frozen import frozen
from segmend.loading.timing.costs import PARTS
from segmend.loading.timing.estimate import Estimate
from segmend.report import text
from segmend.report.style import PLAIN, Style
from segmend.report.table import Column, table
from segmend.wording import plural

_HEADS = {"clean": "clean stop", "killed": "killed now", "worst": "worst kill", "everything": "points lost"}


@frozen
class StartupPage:
    """All that is told: `own` is the rolling restart of this release, `lazy` and `eager` those of KIP-263.

    `releases` are those that the dirs may be of; `others` is the start by the rules of these that differ.
    """

    dirs: Sequence[str]
    clean: Sequence[bool]
    rules: str
    releases: str
    threads_from: str
    study: Study
    others: Sequence[Study]
    lazy: Bounce
    eager: Bounce
    own: Bounce
    probe: Probe


def lines(page: StartupPage, style: Style = PLAIN) -> Iterator[str]:
    study = page.study
    looked = f"{plural(study.partitions, 'partition')}, {plural(study.segments, 'segment')}"
    yield f"{looked}, {text.size(study.bytes)}; rules of {page.rules}"
    for path, clean in zip(page.dirs, page.clean, strict=True):
        state = "stopped cleanly" if clean else "not stopped cleanly, or a broker runs"
        yield f"{text.clean(path)}: {state}"
    yield _disk(study.speed)
    cores = plural(study.machine.cores or 0, "core")
    yield f"num.recovery.threads.per.data.dir={study.threads} ({page.threads_from}), {cores} here"
    yield ""
    yield from _parts(study, style)
    yield from _others(page)
    yield ""
    yield from _threads(study, style)
    yield ""
    yield from _kip_263(page, style)
    yield ""
    yield from _bounce(page, style)
    yield ""
    yield from _kubernetes(page, style)


def _disk(speed: Speed) -> str:
    if speed.bytes_per_second is None:
        return "disk: too little here to measure it on, so its speed does not count (--read-speed MB/s)"
    words = f"disk: {speed.bytes_per_second / 1e6:,.0f} MB/s"
    if speed.given:
        return f"{words}, as given"
    sample = text.size(speed.bytes_read)
    if speed.cached:
        return (
            f"{words} on {sample} of these segments, but that is the page cache: a start after a reboot "
            "is slower (--read-speed MB/s)"
        )
    single = "" if speed.seconds_a_read is None else f", {speed.seconds_a_read * 1000:.2f} ms a single read"
    return f"{words}{single}, measured on {sample} of these segments that were not in the page cache"


def _parts(study: Study, style: Style) -> Iterator[str]:
    estimates = study.by_case()
    columns = [Column("seconds"), *(Column(_HEADS[case], right=True) for case in CASES)]
    rows = [
        [words, *(_seconds(each.parts[part]) for each in estimates.values())] for part, words in PARTS.items()
    ]
    rows.append(["in all", *(_seconds(each.seconds) for each in estimates.values())])
    rows.append(["read in full", *(text.size(each.scanned_bytes) for each in estimates.values())])
    yield from table(columns, rows, style)
    yield (
        "worst kill: the last two segments of each partition not flushed; points lost: "
        "recovery-point-offset-checkpoint unreadable"
    )


def _others(page: StartupPage) -> Iterator[str]:
    if not page.others:
        return
    yield f"these dirs may be of any Kafka of {page.releases} (--kafka says which):"
    own = _told_in_short(page.study)
    for other in page.others:
        told = _told_in_short(other)
        yield f"  by the rules of {other.release}: {'the same' if told == own else told}"


def _told_in_short(study: Study) -> str:
    return ", ".join(
        f"{_HEADS[case]} {text.duration(each.seconds)}" for case, each in study.by_case().items()
    )


def _seconds(value: float) -> str:
    if value < 0.005:
        return "-"
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def _threads(study: Study, style: Style) -> Iterator[str]:
    columns = [
        Column("num.recovery.threads.per.data.dir", right=True),
        *(Column(_HEADS[case], right=True) for case in CASES),
    ]
    rows = []
    for threads in _counts(study):
        mark = f"{threads} *" if threads == study.threads else f"{threads}  "
        rows.append([mark, *(text.duration(study.estimate(case, threads=threads).seconds) for case in CASES)])
    yield from table(columns, rows, style)
    longest = study.estimate("worst", threads=_counts(study)[-1]).longest
    if longest is not None:
        yield f"the floor is {text.clean(longest)}: one partition is one thread's work"


def _counts(study: Study) -> list[int]:
    return sorted({*THREADS, study.threads})


def _kip_263(page: StartupPage, style: Style) -> Iterator[str]:
    eager = page.study.estimate("clean", eager=True)
    lazy = page.study.estimate("clean", eager=False)
    yield style("bold", "KIP-263: index sanity checks after a clean stop")
    yield (
        f"  eager, all {plural(page.study.segments, 'segment')} (up to 2.2): "
        f"{text.duration(eager.loading)} of loading, {text.duration(eager.seconds)} to start"
    )
    yield (
        f"  lazy, when first used (since 2.3, KAFKA-7283): {text.duration(lazy.loading)} of loading, "
        f"{text.duration(lazy.seconds)} to start"
    )


def _bounce(page: StartupPage, style: Style) -> Iterator[str]:
    own = page.own
    yield style("bold", f"rolling restart of {plural(own.brokers, 'broker')} like this one, in turn")
    yield (
        f"  stop {text.duration(own.stop)} + start {text.duration(own.start)} + until in the ISR "
        f"{text.duration(own.isr)} = {text.duration(own.each)} each, {text.duration(own.total)} in all"
    )
    yield f"  eager checks: {text.duration(page.eager.total)}; lazy: {text.duration(page.lazy.total)}"
    yield "  (catching up is taken for as long as it was away; moving the leaders comes on top)"


def _kubernetes(page: StartupPage, style: Style) -> Iterator[str]:
    probe = page.probe
    yield style("bold", "Kubernetes")
    any_of = " by the rules of any of these releases" if page.others else ""
    yield (
        f"  the worst unclean start{any_of} takes {text.duration(probe.worst)}; the probe waits "
        f"{text.duration(probe.seconds)} ({SAFETY:g} times as long, at least 5 min)"
    )
    yield from (f"  {line}" for line in yaml(probe))
    yield "  a grace period that is too short ends in a kill, and the next start is the unclean one"


def yaml(probe: Probe) -> list[str]:
    """The part of a pod's `spec` to paste."""
    return [
        f"terminationGracePeriodSeconds: {probe.grace_seconds}",
        "containers:",
        "  - name: kafka",
        "    startupProbe:",
        "      tcpSocket:",
        f"        port: {probe.port}",
        f"      periodSeconds: {PERIOD_SECONDS}",
        f"      failureThreshold: {probe.failure_threshold}",
    ]


def json_lines(page: StartupPage) -> Iterator[Mapping[str, object]]:
    study, speed = page.study, page.study.speed
    yield {
        "type": "machine",
        "read_speed": speed.bytes_per_second,
        "read_speed_given": speed.given,
        "measured_bytes": speed.bytes_read,
        "page_cache": speed.cached,
        "random_read_seconds": speed.seconds_a_read,
        "cores": study.machine.cores,
        "threads": study.threads,
        "kafka": str(study.release),
        "kafka_may_be": page.releases,
    }
    for case, words in CASES.items():
        yield {"type": "startup", "case": case, "what": words, **_estimate(study, study.estimate(case))}
    for other in page.others:
        seconds = {case: round(each.seconds, 2) for case, each in other.by_case().items()}
        yield {"type": "other-release", "kafka": str(other.release), **seconds}
    for threads in _counts(study):
        seconds_by_case = {case: round(study.estimate(case, threads=threads).seconds, 2) for case in CASES}
        yield {"type": "threads", "threads": threads, **seconds_by_case}
    for name in ("eager", "lazy"):
        estimate = study.estimate("clean", eager=name == "eager")
        yield {"type": "kip-263", "sanity_checks": name, **_estimate(study, estimate)}
    for name, bounce in (("own", page.own), ("eager", page.eager), ("lazy", page.lazy)):
        yield {
            "type": "rolling-restart",
            "sanity_checks": name,
            "brokers": bounce.brokers,
            "stop_seconds": round(bounce.stop, 2),
            "start_seconds": round(bounce.start, 2),
            "isr_seconds": round(bounce.isr, 2),
            "seconds": round(bounce.total, 1),
        }
    yield {
        "type": "kubernetes",
        "worst_seconds": round(page.probe.worst, 2),
        "period_seconds": PERIOD_SECONDS,
        "failure_threshold": page.probe.failure_threshold,
        "termination_grace_period_seconds": page.probe.grace_seconds,
        "yaml": "\n".join(yaml(page.probe)),
    }


def _estimate(study: Study, estimate: Estimate) -> Mapping[str, object]:
    return {
        "seconds": round(estimate.seconds, 2),
        "loading_seconds": round(estimate.loading, 2),
        "breakdown": estimate.to_json(),
        "scanned_bytes": estimate.scanned_bytes,
        "partitions": study.partitions,
        "segments": study.segments,
    }
