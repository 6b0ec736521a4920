"""What the names in a partition directory mean to a broker, grouped in one pass.

Pure: names in, groups out. Follows `LogLoader` (what is a segment, an orphan, a left-over
of compaction) and `LogFileUtils.offsetFromFileName` (the base offset is the number before
the first dot; the padding is never looked at). A directory of 100,000 segments has 400,000
names, so the usual ones take a short path.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from segmend.formats.names import file_prefix, parse_file_name
from segmend.frozen import dataclass, field
from segmend.logdir.file_system import FILES, EntryType

UNFINISHED: Final = ".segmend.tmp"
"""Ends the name of a file that segmend is writing: loaders of all releases ignore `.tmp`."""

_MAX_BASE = file_prefix(2**63 - 1)


@dataclass(slots=True, kw_only=True)
class Layout:
    """Names by meaning. The `dict`s go from base offset to the padded name."""

    logs: dict[int, str] = field(default_factory=dict)
    index: dict[int, str] = field(default_factory=dict)
    timeindex: dict[int, str] = field(default_factory=dict)
    txnindex: dict[int, str] = field(default_factory=dict)
    snapshots: dict[int, str] = field(default_factory=dict)
    shadowed: list[tuple[int, str]] = field(default_factory=list)
    """Unpadded `.log` names: the broker takes their base offset and never opens them."""
    unpadded: list[tuple[int, str]] = field(default_factory=list)
    """Unpadded names of other kinds."""
    kraft_snapshots: list[str] = field(default_factory=list)
    deleted: list[str] = field(default_factory=list)
    cleaned: list[str] = field(default_factory=list)
    swap: list[str] = field(default_factory=list)
    temporary: list[str] = field(default_factory=list)
    """`.tmp` and `.part` left-overs."""
    unparsable: list[str] = field(default_factory=list)
    """Names on which the broker dies with a NumberFormatException."""
    known: list[str] = field(default_factory=list)
    """leader-epoch-checkpoint, partition.metadata, quorum-state."""
    foreign: list[str] = field(default_factory=list)
    """Plain files that no broker looks at."""
    directories: list[str] = field(default_factory=list)
    """Sub-directories and anything else that is not a regular file; ignored by brokers."""
    dangling: list[str] = field(default_factory=list)
    """Links to nothing, FIFOs, sockets and devices under names of Kafka's: not there to one look, and there
    to the next."""

    @property
    def base_offsets(self) -> list[int]:
        return sorted({*self.logs, *(base for base, _ in self.shadowed)})

    @property
    def orphans(self) -> list[str]:
        """Index files whose log is not there ("Found an orphaned index file"), in name order."""
        indexes = (self.index, self.timeindex, self.txnindex)
        names = [name for group in indexes for base, name in group.items() if base not in self.logs]
        return sorted(names)


def layout(names: Mapping[str, EntryType]) -> Layout:
    """Group the names of one partition directory."""
    result = Layout()
    groups = {
        ".log": result.logs,
        ".index": result.index,
        ".timeindex": result.timeindex,
        ".txnindex": result.txnindex,
        ".snapshot": result.snapshots,
    }
    bases: dict[str, int] = {}  # of the names of a segment only the first is taken for a number
    for name, type in names.items():
        group, digits = groups.get(name[20:]), name[:20]
        if type not in FILES:
            (result.dangling if _dangles(name, type) else result.directories).append(name)
        elif group is None:
            _unusual(result, groups, name)
        elif digits in bases:
            group[bases[digits]] = name
        elif digits.isdecimal() and digits.isascii() and digits <= _MAX_BASE:
            group[int(digits)] = name
            bases[digits] = int(digits)
        else:
            _unusual(result, groups, name)
    return result


def _dangles(name: str, type: EntryType) -> bool:
    return type in ("link-broken", "other") and parse_file_name(name).kind not in ("other", "unparsable")


def _unusual(result: Layout, groups: dict[str, dict[int, str]], name: str) -> None:
    """A name that is not `<20 digits>.<usual suffix>`: also what brokers give an offset below zero."""
    parsed = parse_file_name(name)
    if parsed.kind == "unparsable":
        result.unparsable.append(name)
    elif parsed.state != "live":
        _left_over(result, parsed.state).append(name)
    elif parsed.kind == "kraft-snapshot":
        result.kraft_snapshots.append(name)
    elif parsed.base_offset is not None and parsed.padded:
        groups[f".{parsed.kind}"][parsed.base_offset] = name
    elif parsed.base_offset is not None:
        (result.shadowed if parsed.kind == "log" else result.unpadded).append((parsed.base_offset, name))
    else:
        (result.foreign if parsed.kind == "other" else result.known).append(name)


def _left_over(result: Layout, state: str) -> list[str]:
    groups = {"deleted": result.deleted, "cleaned": result.cleaned, "swap": result.swap}
    return groups.get(state, result.temporary)
