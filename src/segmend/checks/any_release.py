"""The checks by the rules of each release that the disks may be of, where they do not tell which.

The findings are those of the release that is taken for granted. What only another one has follows, with its
name, so that no all-clear rests on a guess; the summary says how many there are by which rules. Logs of
many bytes are not read once more: there releases are compared by what a start looks at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any, Final

from segmend.broker.sanity import INDEX_SANITY, IndexSanity
from segmend.checks.remedies import by_rules_of
from segmend.findings import Finding
from segmend.frozen import replace
from segmend.logdir.release import Release
from segmend.node.broker_dirs import BrokerDirs
from segmend.node.candidates import each_release
from segmend.wording import plural

from .context import NOBODY, Keeper
from .manual import Level
from .registry import all_checks
from .runner import INDEX_LOOKS, ONLY_AT_STARTUP, CheckRun, Wanted

COMPARED: Final = 20_000
"""Findings up to which releases are compared; a ruin has millions, and needs no second opinion."""
READ_AGAIN: Final = 256 << 20
"""Bytes of logs up to which each release has its whole check; beyond it, what a start looks at."""


class CheckOfAny(CheckRun):
    """As `CheckRun`, which has the options, for a broker whose release may not be known.

    Of more logs than `read_again` bytes (`READ_AGAIN` without it) releases are compared by what a start
    looks at.
    """

    def __init__(
        self, broker: BrokerDirs, *, read_again: int | None = None, keeper: Keeper = NOBODY, **options: Any
    ) -> None:
        super().__init__(broker, keeper=keeper, **options)
        self._given = broker
        self._options = {**options, "on_progress": None, "keeper": Keeper(keeper.scanned)}
        most = READ_AGAIN if read_again is None else read_again
        self._shortened = self._level > Level.STARTUP and not (most and _fits(broker, most))
        if self._shortened:
            wanted = options.get("wanted") or Wanted()
            wanted = replace(wanted, ignore=(*wanted.ignore, *ONLY_AT_STARTUP))
            self._options.update(level=Level.STARTUP, wanted=wanted)

    def __iter__(self) -> Iterator[Finding]:
        runs = each_release(self._given, self._run)
        ranks: dict[int, int] = {}
        compared: set[int] = set()
        codes = _codes(Level.STARTUP if self._shortened else self._level)
        for finding in next(runs)[1]:
            if len(ranks) <= COMPARED:
                ranks[_place(finding)] = finding.severity.rank
                if finding.code in codes:
                    compared.add(_place(finding))
            yield finding
        if len(ranks) > COMPARED:
            self.summary.releases.append(
                f"rules of {self._given.release} alone: too many findings to compare"
            )
            return
        usual = frozenset(compared)
        for other, run in runs:
            yield from self._more(other.release, run, usual, ranks)
        guess = self._given.guess
        if guess.several or self.summary.releases:
            said = self.summary.releases or ["this check finds the same by the rules of each of them"]
            how = ", compared by what a start looks at" if self._shortened else ""
            may_be = f"any Kafka of {guess.words} may be (--kafka says which; a plan that depends on it asks)"
            self.summary.releases[:] = [f"{may_be}{how}", *said, *self._not_compared()]

    def _not_compared(self) -> Iterator[str]:
        """What no level but that of a start looks at, where releases differ in it."""
        looked_at = (
            self._level == Level.STARTUP or INDEX_SANITY.of(self._given.guess.oldest) == IndexSanity.NONE
        )
        if not looked_at:
            yield f"not compared: {INDEX_LOOKS} (--startup does)"

    def _run(self, broker: BrokerDirs) -> Iterable[Finding]:
        return super().__iter__() if broker is self._given else CheckRun(broker, **self._options)

    def _more(
        self, release: Release, run: Iterable[Finding], usual: frozenset[int], ranks: dict[int, int]
    ) -> Iterator[Finding]:
        here: set[int] = set()
        more = 0
        for finding in run:
            place = _place(finding)
            here.add(place)
            if ranks.get(place, 3) <= finding.severity.rank:
                continue
            ranks[place] = finding.severity.rank
            more += 1
            self.summary.counts[finding.severity] += 1
            yield _by_rules_of(release, finding)
        fewer = len(usual - here)
        words = [
            f"{plural(count, 'finding')} {what}"
            for count, what in ((more, "more"), (fewer, "fewer"))
            if count
        ]
        if words:
            self.summary.releases.append(f"by the rules of {release} {' and '.join(words)}")


def _fits(broker: BrokerDirs, most: int) -> bool:
    """Whether all logs have no more bytes than that; where they have more, the first ones tell."""
    sizes = (partition.size for partition in broker.partitions)
    return all(so_far <= most for so_far in accumulate(sizes))


def _codes(level: Level) -> frozenset[str]:
    return frozenset(code.name for check in all_checks() if check.level <= level for code in check.codes)


def _place(finding: Finding) -> int:
    return hash((finding.code, finding.dir, finding.file, finding.position, finding.offset))


def _by_rules_of(release: Release, finding: Finding) -> Finding:
    return replace(
        finding,
        message=f"{finding.message} (by the rules of Kafka {release}, which this may be)",
        remedy=finding.remedy and by_rules_of(str(release), finding.remedy),
        detail={**finding.detail, "kafka": str(release)},
    )
