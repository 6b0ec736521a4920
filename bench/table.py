"""Print the outcome of one race: a row a contender, ratios to the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.measure import Contender


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A figure to reach: the first contender's time is at most `at_most` x that of `against`."""

    against: str
    at_most: float


def show(
    title: str, contenders: Sequence[Contender], *, size: float, unit: str, targets: Sequence[Target] = ()
) -> None:
    """One table; `size` is the amount of work in `unit`, for the rate column."""
    ours = contenders[0]
    wanted = {target.against: target.at_most for target in targets}
    print(f"\n## {title}\n")
    print(f"| what | median s | min s | {unit}/s | first / this | target | peak MiB | CPU s |")
    print("|---|--:|--:|--:|--:|---|--:|--:|")
    for each in contenders:
        ratio = ours.median / each.median
        verdict = _verdict(ratio, wanted.get(each.name))
        peak = f"{each.peak_mib:.0f}" if each.peak_mib else ""
        cpu = f"{min(each.cpu):.2f}" if each.cpu else ""
        cells = [
            *(each.name, f"{each.median:.3f}", f"{min(each.seconds):.3f}", f"{size / each.median:.2f}"),
            *(f"{ratio:.3f}", verdict, peak, cpu),
        ]
        print(f"| {' | '.join(cells)} |")


def show_waits(title: str, waits: Sequence[tuple[Contender, float]]) -> None:
    """Times a person waits for, each with its bound in seconds."""
    print(f"\n## {title}\n")
    print("| what | median s | min s | CPU s | target s | peak MiB |")
    print("|---|--:|--:|--:|---|--:|")
    for each, bound in waits:
        verdict = _verdict(each.median, bound)
        cpu = f"{min(each.cpu):.3f}" if each.cpu else ""
        times = f"{each.median:.3f} | {min(each.seconds):.3f} | {cpu}"
        print(f"| {each.name} | {times} | {verdict} | {each.peak_mib:.0f} |")


def _verdict(value: float, bound: float | None) -> str:
    if bound is None:
        return ""
    return f"<= {bound:.3g} {'reached' if value <= bound else 'MISSED'}"
