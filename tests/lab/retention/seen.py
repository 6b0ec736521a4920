"""What a broker did to the segments: which went, when, and by which rule, as server.log says."""

import re
import time
from collections.abc import Iterable
from pathlib import Path

RULES = {
    "retention time": "retention.ms", "retention size": "retention.bytes", "log start": "log start offset",
}  # fmt: skip
LINE = re.compile(
    r"^\[(?P<when>[\d :-]+),(?P<ms>\d+)\].*partition=(?P<topic>[\w.-]+)-(?P<number>\d+),.*?"
    r"(?:Deleting segments?|Found deletable segments) (?P<what>.*)"
)
_BASES = re.compile(r"baseOffset=(\d+)")

Gone = dict[tuple[str, int], tuple[int, str]]
"""(topic, base offset) -> (when in ms, rule)."""


def deletions(lines: Iterable[str]) -> Gone:
    """What retention deleted, in the order of the log; the first deletion of a segment counts."""
    found: Gone = {}
    for line in lines:
        match = LINE.match(line)
        if match is None or "breach" not in line:
            continue
        rule = next(name for words, name in RULES.items() if words in match["what"])
        listed = re.search(r"base offsets \[([\d,]+)\]", line)
        bases = listed[1].split(",") if listed else _BASES.findall(match["what"])
        seconds = time.mktime(time.strptime(match["when"], "%Y-%m-%d %H:%M:%S"))
        for base in bases:
            found.setdefault((match["topic"], int(base)), (int(seconds) * 1000 + int(match["ms"]), rule))
    return found


def remaining(log_dir: Path) -> set[tuple[str, int]]:
    """The segments that are still there."""
    return {(path.parent.name[:-2], int(path.stem)) for path in log_dir.glob("r*-0/*.log")}
