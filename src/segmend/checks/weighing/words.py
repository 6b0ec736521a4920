"""A line for people about what a start does: the worst of its effects first, losses in records.

Not a check. The effects are those of `segmend.loading`; what is said of each is one phrase that
goes on from "the broker".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from segmend.checks.manual import Entry
from segmend.findings import Basis, BrokerEffect
from segmend.formats import txn_index
from segmend.loading.values import Effect
from segmend.wording import plural

NONE: Final = "none"
REFUSES: Final = "broker-refuses"
OFFLINE: Final = "dir-offline"
# A start that does this much to one place is told by the worst of it.
_MOST = 3

Phrase = Callable[[Sequence[Effect]], str]


def told(effects: Sequence[Effect]) -> BrokerEffect:
    """Effects with one cause as one value; `effects` is not empty."""
    groups: dict[str, list[Effect]] = {}
    for effect in sorted(effects, key=_weight):
        groups.setdefault(effect.effect, []).append(effect)
    if "recovery-scan" in groups:
        # Recovery makes the indexes anew, whatever was done to them before.
        groups = {
            name: group for name, group in groups.items() if name not in ("index-rebuilt", "index-created")
        }
    worst = next(iter(groups.values()))[0]
    phrases = [_phrase(name, group) for name, group in list(groups.items())[:_MOST]]
    if set(groups) == {"reads-fail"}:
        phrases.insert(0, "nothing at the start")
    lost = [effect for effect in effects if effect.effect != "reads-fail"]
    return BrokerEffect(
        text="; ".join(phrases),
        effect=worst.effect,
        offset=worst.offset,
        records_lost=sum(effect.records_lost for effect in lost),
        bytes_lost=sum(effect.bytes_lost for effect in lost),
    )


def refusal(reason: str) -> BrokerEffect:
    return BrokerEffect(text=f"refuses to start: {reason}", effect=REFUSES)


def offline(reason: str) -> BrokerEffect:
    return BrokerEffect(text=f"takes the log dir offline: {reason}", effect=OFFLINE)


def unreached(reason: object, basis: Basis) -> BrokerEffect:
    """The start fails before it gets there: of the manual if nothing tells whether it survives this."""
    return BrokerEffect(text=f"does not get so far: {reason}", effect=NONE, basis=basis)


def nothing(entry: Entry) -> BrokerEffect:
    """The start passes it by; the manual says what comes of that."""
    general = entry.broker_line
    text = (
        general if entry.code.ignored or entry.code.always else f"nothing at this start; at others: {general}"
    )
    return BrokerEffect(text=text, effect=NONE)


def _weight(effect: Effect) -> tuple[bool, bool]:
    """Sorts losses first, then what readers notice, then what is mended; each in the start's own order."""
    return effect.records_lost == 0, not effect.loses


def _phrase(name: str, effects: Sequence[Effect]) -> str:
    phrase = _PHRASES[name](effects)
    records = sum(effect.records_lost for effect in effects)
    if name == "reads-fail" or (not records and name not in _LOSING):
        return phrase
    if records:
        return f"{phrase}, {plural(records, 'record')} lost"
    torn = any(effect.bytes_lost for effect in effects)
    return f"{phrase}, no whole record lost" if torn else f"{phrase}, no record lost"


def _file(effect: Effect) -> str:
    return (effect.file or "").rpartition("/")[2]


def _at(effects: Sequence[Effect]) -> str:
    return f"{min(effect.offset or 0 for effect in effects):,}"


def _reads(effects: Sequence[Effect]) -> str:
    says = next((effect.broker_says for effect in effects if effect.broker_says), None)
    if says and all(_file(effect).endswith(txn_index.SUFFIX) for effect in effects):
        return f"from offset {_at(effects)} on, {says}"
    index = all("index" in _file(effect) for effect in effects)
    how = "fails or skips records" if index else "gets no further, or misses records"
    return f"a consumer that reaches offset {_at(effects)} {how}{f' ({says})' if says else ''}"


def _lines() -> Iterator[tuple[str, Phrase]]:
    yield "tail-truncated", lambda each: f"cuts the log at offset {_at(each)}"
    yield "segment-emptied", lambda each: f"empties the segment at offset {_at(each)}"
    yield (
        "segments-deleted",
        lambda each: f"deletes {plural(len(each), 'segment')} from offset {_at(each)} on",
    )
    yield "segment-skipped", lambda each: f"does not load {_file(each[0])}"
    yield "stray-renamed", lambda _: "sets the directory aside as -stray"
    yield "directory-deleted", lambda _: "deletes the directory"
    yield "log-recreated-empty", lambda _: "puts an empty log in its place"
    yield "partition-unserved", lambda _: "loads the log, and serves no client with it"
    yield "metadata-lost", lambda _: "starts without what is gone of the cluster's metadata"
    yield "log-start-moved", lambda each: f"starts the log at offset {_at(each)}"
    yield "reads-fail", _reads
    yield "checkpoint-reset", lambda each: f"takes {_file(each[0])} for empty"
    yield (
        "high-watermark-reset",
        lambda each: f"takes {_at(each)}, the end of the log, for the high watermark",
    )
    yield "epochs-rewritten", lambda _: "writes leader-epoch-checkpoint anew with other entries"
    yield "snapshot-rebuilt", lambda _: "forgets the producers, or reads them from the log again"
    yield "snapshot-deleted", lambda each: f"deletes {plural(len(each), 'producer snapshot')}"
    yield "file-deleted", lambda each: f"deletes {plural(len(each), 'file')}"
    yield "swap-completed", lambda _: "completes the compaction that was cut short"
    yield "index-rebuilt", lambda _: "reads the segment whole and rebuilds its indexes"
    yield "index-created", lambda each: f"creates {_file(each[0])} and leaves it empty"
    yield "index-trimmed", lambda _: "cuts the index to the entries of its log"
    yield "recovery-scan", lambda _: "recovers the segment: reads it whole, rebuilds its indexes"


_PHRASES: Final[Mapping[str, Phrase]] = dict(_lines())
# Where it is worth saying that no record goes.
_LOSING: Final = frozenset({"tail-truncated", "segment-emptied", "segments-deleted", "recovery-scan"})
