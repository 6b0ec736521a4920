"""What a rescue says to people: the loss report, a partition after the other."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from segmend.kernel.types import DECODE_LIMIT, KINDS, WINDOW_LIMIT
from segmend.report import text
from segmend.report.producers import written_by
from segmend.report.style import Style
from segmend.rescue.lines import CompactedCount, DecodedCount, PartitionLine, SummaryLine, UntoldPolicy
from segmend.wording import plural

_SHOWN = 10
_TAKEN = {
    "lost": "Kafka's default cleanup.policy (delete) was taken, by which offsets that nobody has are lost",
    "compacted": "nobody tells the cleanup.policy, so offsets that nobody has were taken for compacted",
}
_TOO_LARGE = (
    f"its records were not looked at, for it has more than {text.size(WINDOW_LIMIT)}, or more than "
    f"{text.size(DECODE_LIMIT)} once decompressed"
)
_UNMARKED = {"log_start_offset": "kept as they are", "next_target_offset": "sent as they are"}
"""By a fact of a form without columns to mark a record in, what became of such a record there."""
_AS_IT_IS = (
    "what cannot be read of a batch is not in OUT, though no offset of it counts as missing; "
    "rescue --as log-dir keeps it as it is"
)


def lines_of(line: PartitionLine, look: Style) -> Iterator[str]:
    """One line for a partition, and one for everything that is not as it should be."""
    name = f"{line['topic']}-{line['partition']}"
    if line.get("refused"):
        yield f"{look('bold', text.clean(name))}  {look('red', 'not written')}: {text.clean(line['refused'])}"
        return
    offsets = f"offsets {line['first_offset']} to {line['next_offset'] - 1}"
    where = offsets if line["first_offset"] < line["next_offset"] else "no offset"
    counted = f"{plural(line['records'], 'record')}, {where}, {text.size(line['bytes'])}"
    yield f"{look('bold', text.clean(name))}  {counted}"
    yield from (f"    {each}" for each in _remarks(line))


def _remarks(line: PartitionLine) -> Iterator[str]:
    lost = line["missing"]
    if lost:
        offsets = sum(last - first + 1 for first, last in lost)
        yield f"missing: {plural(offsets, 'offset')} that no replica has sound: {_ranges(lost)}"
    yield from _salvaged(line.get("salvaged", ()), "of these, " if lost else "")
    for each in line["diverged"]:
        yield (
            f"diverged: offsets {each['first_offset']} to {each['last_offset']} of "
            f"{text.broker(each['broker'])} ({text.clean(each['dir'])}), {plural(each['records'], 'record')} "
            f"of a branch that lost{written_by(each.get('producers', ()))}"
        )
    for one in line["conflicts"]:
        where = f"{one['first_offset']} to {one['last_offset']}"
        yield f"conflict: replicas have other sound bytes at offsets {where}; taken by {one['because']}"
    yield from _unreadable(line["unreadable"])
    yield from (f"doubt: {text.clean(each)}" for each in line["doubts"])
    yield from (f"assumed: {text.clean(each)}" for each in line.get("assumed", ()))
    yield from _compacted(line.get("compacted"))
    for side, counts in line.get("decoded", {}).items():
        yield from _decoded(side, counts)
    marked = next((words for fact, words in _UNMARKED.items() if fact in line["form"]), "marked")
    if line["aborted"]:
        left = "left out" if line["left_out"] else marked
        yield f"{plural(line['aborted'], 'record')} of aborted transactions, {left}"
    if line["open"]:
        yield f"{plural(line['open'], 'record')} of transactions without a known end, {marked}"
    yield from (text.clean(each) for each in line["form"].get("notes", ()))
    if "open_since" in line["form"]:
        yield (
            f"a transaction from offset {line['form']['open_since']} has no end among these: it stays "
            "open in OUT, and who reads committed records gets none from there on"
        )
    if line["unacknowledged"]:
        records = plural(line["unacknowledged"], "record")
        yield f"{records} above the high watermark on one replica only, {marked}"


def _unreadable(batches: Sequence[Sequence[str | int]]) -> Iterator[str]:
    """An earlier release's journal does not tell the dirs."""
    for file, position, kind, *dir in batches[:_SHOWN]:
        path = text.clean("/".join(map(str, (*dir, file))))
        why = (
            _TOO_LARGE
            if kind == "too-large"
            else next((words for known, words in KINDS.items() if known == kind), str(kind))
        )
        yield f"unreadable: {path} at byte {position}: {why}"
    if batches:
        more = f"unreadable: {plural(len(batches) - _SHOWN, 'batch')} more; " if len(batches) > _SHOWN else ""
        yield f"{more}{_AS_IT_IS}"


def _salvaged(spans: Sequence[Sequence[int]], of: str) -> Iterator[str]:
    if spans:
        records = plural(sum(last - first + 1 for first, last in spans), "record")
        yield (
            f"salvaged: {of}{records} out of batches that are not sound, or that one bit may have moved, "
            f"marked (their bytes, or offsets, may be wrong): {_ranges(spans)}"
        )


def _compacted(counts: CompactedCount | None) -> Iterator[str]:
    if counts and "superseded" in counts:
        aborted = f", and {counts['aborted']:,} of aborted transactions" if counts["aborted"] else ""
        yield f"compacted: {plural(counts['superseded'], 'record')} whose key came again left out{aborted}"
    elif counts:
        yield f"not compacted: {text.clean(counts['not'] or '')}"


def _decoded(side: str, counts: DecodedCount) -> Iterator[str]:
    null = f", {counts['null']:,} null" if counts["null"] else ""
    yield f"{side}: {counts['decoded']:,} decoded as {counts['as']}, {counts['raw']:,} left raw{null}"
    for reason, count in [*counts["reasons"].items()][:_SHOWN]:
        yield f"{side}: left raw {count:,}: {text.clean(reason)}"
    if counts["schema"]:
        yield f"{side}: schema {text.clean(json.dumps(counts['schema']))}"


def _ranges(spans: Sequence[Sequence[int]]) -> str:
    shown = ", ".join(f"{first}..{last}" for first, last in spans[:_SHOWN])
    return shown + (f" and {len(spans) - _SHOWN} more" if len(spans) > _SHOWN else "")


def outside(line: PartitionLine, since: int | None, until: int | None) -> Iterator[str]:
    """That nothing of a partition is of the time asked for, and which that is: `-24h` counts from now."""
    if (since, until) != (None, None) and line.get("records") == 0 and line["read"]:
        low = "" if since is None else f" from {text.when(since)}"
        high = "" if until is None else f" up to {text.when(until)}"
        yield (
            f"    nothing of it is of the time asked for,{low}{high} (UTC); `segmend show DIR` tells the "
            "oldest and newest time of each partition"
        )


def summary_line(line: SummaryLine, out: str) -> str:
    counted = f"{plural(line['records'], 'record')} of {plural(line['partitions'], 'partition')}"
    lost = plural(line["missing"], "offset") if line["missing"] else "no offset"
    salvaged = f", {line['salvaged']:,} of them salvaged" if line.get("salvaged") else ""
    said = f"{counted} in {text.clean(out)}, {text.size(line['bytes'])}; {lost} missing{salvaged}"
    if line.get("unreadable"):
        said += f"; {plural(line['unreadable'], 'batch', 'batches')} unreadable"
    refused = line.get("refused", 0)
    return said + (f"; {plural(refused, 'partition')} not written" if refused else "")


def again_line(line: SummaryLine) -> Iterator[str]:
    """That a report is an old one."""
    if line.get("again"):
        yield (
            "this rescue was at its end before, and this is what it told then: the log dirs were not looked "
            "at now, and of what it wrote names and sizes only; a new --out has it done anew"
        )


def untold_lines(topics: Sequence[UntoldPolicy]) -> Iterator[str]:
    """One line for the topics whose gaps were taken for what nobody tells."""
    by_gaps = {gaps: [each["topic"] for each in topics if each["gaps"] == gaps] for gaps in _TAKEN}
    for gaps, names in by_gaps.items():
        if names:
            more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
            yield f"{_TAKEN[gaps]}: {text.clean(', '.join(names[:_SHOWN]))}{more} (--config FILE tells more)"
