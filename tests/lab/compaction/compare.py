"""What is said against what cleaners did: `python -m tests.lab.compaction.compare [RELEASE...]`.

The logs of a record are written again from its seed, without a broker, and looked at as of the moment when
the broker was up.
"""

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from segmend.explain.compaction import Compaction, compactions
from segmend.loading import ForecastOptions
from segmend.loading.limits import TopicSettings
from segmend.logdir.config import ServerConfig
from tests.brokers import broker_of
from tests.lab.base import QUIET
from tests.lab.compaction.draw import KINDS, DrawnLog, drawn
from tests.lab.compaction.run import HERE, MARKER
from tests.lab.compaction.write import checkpoints, write
from tests.lab.releases import release


@dataclass(frozen=True)
class Seen:
    """What a broker did with one log; `cleaned` is the first range that it built a map for."""

    rounds: list[list[int]]
    checkpoint: int | None
    flags: str
    size: int
    base: int


def records() -> list[str]:
    """The releases that have one."""
    return sorted(path.stem for path in HERE.glob("*.json"))


@cache
def recorded(version: str) -> list[dict[str, Any]]:
    """The starts of a release."""
    found: list[dict[str, Any]] = json.loads((HERE / f"{version}.json").read_text())
    return found


def played(
    version: str, start: dict[str, Any], root: Path
) -> Iterator[tuple[DrawnLog, Compaction | None, Seen]]:
    """Each log of a start, what is said of it, and what became of it."""
    kind = KINDS[start["kind"]]
    logs = [drawn(start["seed"], row[0], release(version).number, kind) for row in start["logs"]]
    now = start["written"]
    checkpoints(
        root, {each.name: write(root / f"{each.name}-0", each, now, killed=kind.killed) for each in logs}
    )
    if not kind.killed:
        (root / MARKER).write_text(
            '{"version":0,"brokerEpoch":1}' if release(version).number >= (3, 7) else ""
        )
    config = ServerConfig(given={**QUIET, **kind.settings, "log.dirs": str(root)})
    told = TopicSettings(of={each.name: each.settings for each in logs}, source="in the draw")
    options = ForecastOptions(now_ms=start["started"], topics=told)
    found = compactions(broker_of([root], version, config), options, lambda _: True)
    said = {each.topic: each for each in found}
    for log, row in zip(logs, start["logs"], strict=True):
        yield log, said.get(log.name), Seen(*row[1:])


def disagreements(said: Compaction | None, seen: Seen) -> list[str]:
    """In what they differ; where retention and cleaner race, either may be right."""
    differing = _differing(said, seen)
    others = said.instead if differing and said is not None else ()
    return [] if any(not _differing(other, seen) for other in others) else differing


def _differing(said: Compaction | None, seen: Seen) -> list[str]:
    if said is None:
        return [f"not compacted, cleaned {seen.rounds}"] if seen.rounds else []
    verdict = said.verdict
    if verdict is None:
        return [f"does not load: {said.failure}"]
    if (said.turn is not None) != bool(seen.rounds):
        return [f"cleaned {seen.rounds}, said {said.outcome} {verdict}"]
    if (said.outcome == "uncleanable") != ("u" in seen.flags):
        return [f"flags {seen.flags!r}, said {said.outcome} {said.cleaned}"]
    if not seen.rounds:
        return []
    reached = seen.rounds[1][0] if len(seen.rounds) > 1 else seen.checkpoint
    deleted_since = reached == seen.base  # by retention: the checkpoint follows the log start offset
    if said.cleaned is not None and said.cleaned.to not in (None, reached) and not deleted_since:
        return [f"cleaned to {reached}, said {said.cleaned.to} {verdict}"]
    told = [verdict.first_dirty, verdict.stop]
    return [] if told == seen.rounds[0] else [f"cleaned {seen.rounds}, said {told} {verdict}"]


def size_errors(version: str, start: dict[str, Any], root: Path) -> Iterator[float]:
    """By how much, of what was there, the size is not what is said: of logs cleaned in one round."""
    for log, said, seen in played(version, start, root):
        if said is None or said.cleaned is None or log.damage is not None or said.deleted:
            continue
        if said.due and len(seen.rounds) == 1 and seen.base == 0:  # else retention took some since
            yield abs(said.cleaned.bytes - seen.size) / said.size


def main(*wanted: str) -> None:
    """Print what differs."""
    for version in wanted or records():
        for start in recorded(version):
            with tempfile.TemporaryDirectory(prefix="cleaner-", dir=os.environ.get("TMPDIR")) as work:
                results = [
                    (log, said, disagreements(said, seen), seen)
                    for log, said, seen in played(version, start, Path(work))
                ]
            wrong = [(log, found, seen) for log, _, found, seen in results if found]
            for log, found, seen in wrong:
                drew = f"{dict(log.settings)} {log.checkpoint} {log.start} {log.damage}"
                print(f"  {log.name} {drew}: {'; '.join(found)} {seen}")
            agree = f"{len(results) - len(wrong)} of {len(results)} agree"
            print(f"{version} {start['kind']} {start['seed']}: {agree}")


if __name__ == "__main__":
    main(*sys.argv[1:])
