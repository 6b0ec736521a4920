"""One hurt set of log dirs through check, plan, apply, check, plan, undo: what is not as promised.

`complaints` plays an operator's whole evening and says in words each promise that was broken:
a traceback, a finding that stays and that nobody named, one that is new, a log changed without a
word, records gone that the plan does not call lost, a start that does more harm than before, a
second plan that is not empty, a tree that undo did not bring back.
"""

import json
import os
import re
import stat
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cli.run import Ran
from tests.cli.run import run as segmend
from tests.surgery.desk import left_code
from tests.surgery.picture import Tree, picture

from segmend.kernel.scan import iter_batches
from segmend.logdir.disk import FileReader

STOP = frozenset({"C12", "C13"})
"""They tell how a broker stopped, by what the files look like: mended files look otherwise."""
GAPS = frozenset({"L24", "N08"})
"""They tell of records that are not there; a plan that loses some names them."""
HIDING = frozenset({"M05", "C08"})
"""No record is visible before the start; what a repair brings back counts as lost, too."""
TURNS = {"L06": "L05"}
"""With its index back, a segment with a bad batch is not cut any more by the start."""
CLAIM_MORE = frozenset({"L13", "L15", "C08"})
"""A log, or its start, that claims offsets which it does not have: mended, it ends earlier."""

UNREADABLE = frozenset({"L18", "L19", "L20"})
"""A batch of a right CRC whose records nobody can read: it counts as sound here, and may be blanked."""

Plan = dict[str, Any]
Findings = dict[tuple[str, str], dict[str, Any]]
Batches = Counter[tuple[str, int, int, int]]


def run(*argv: object) -> Ran:
    """`segmend ARGV...`; a traceback comes back as exit code 99."""
    try:
        return segmend(*argv)
    except Exception:
        return Ran(99, "", traceback.format_exc())


def batches(dirs: Sequence[Path]) -> Batches:
    """All batches with a good checksum, by directory, checksum, size, and records other than control ones."""
    found: Batches = Counter()
    for path in (path for log_dir in dirs for path in sorted(log_dir.glob("*/*.log")) if path.is_file()):
        with FileReader(str(path)) as reader:
            for batch in iter_batches(reader, crc=True, resync=True):
                records = 0 if batch.is_control else batch.records_count
                found[path.parent.name, batch.crc, batch.size, records] += 1
    return found


@dataclass(kw_only=True)
class Evening:
    """`dirs` are hurt already; `operation` and `options` what is planned; `root` has plan and journal."""

    root: Path
    dirs: Sequence[Path]
    release: str
    operation: str = "repair"
    options: Sequence[object] = ()
    before: Findings = field(default_factory=dict)
    made: Plan = field(default_factory=dict)

    def plan(self) -> tuple[Ran, Plan | None]:
        """The plan as JSON, None if there is none."""
        where = self.root / "plan.json"
        where.unlink(missing_ok=True)
        asked = (*self.dirs, *self.options, "--kafka", self.release, "-o", where)
        ran = run("plan", self.operation, *asked)
        return ran, json.loads(where.read_text()) if where.exists() else None

    def accept(self) -> None:
        """Give up what the plan asks to give up."""
        figure = re.search(r"--accept-loss (\d+-records)", self.plan()[0].out)
        self.options = (*self.options, "--accept-loss", figure[1]) if figure else self.options

    def findings(self) -> tuple[Ran, Findings]:
        """The findings by code and file, as deep as the plan looks."""
        level = ["--deep"] if {"--deep", "--blank", "--from"} & set(self.options) else []
        ran = run("check", *self.dirs, "--kafka", self.release, "--json", "--max", 0, *level)
        return ran, {(line["code"], f"{line['dir']}/{line['file']}"): line for line in ran.of("finding")}

    def forecast(self) -> tuple[Plan, dict[tuple[str, str], Plan]]:
        """The broker's line, and those of partitions."""
        ran = run("forecast", *self.dirs, "--kafka", self.release, "--json")
        assert "Traceback" not in ran.err, ran.err
        lines = {(row["dir"], f"{row['topic']}-{row['partition']}"): row for row in ran.of("partition")}
        return (ran.of("broker") or [{}])[0], lines

    @property
    def codes(self) -> set[str]:
        """What was found before."""
        return {code for code, _ in self.before}


def complaints(evening: Evening) -> list[str]:
    """Every promise that was broken; [] is what one wants."""
    disks = Path(os.path.commonpath([str(path.parent) for path in evening.dirs]))
    tree = picture(disks)
    found = list(_planned(evening))
    if picture(disks) != tree:
        found.append("planning changed the disk")
    if evening.made.get("steps"):
        found += _applied(evening, disks, tree)
    return found


def _planned(evening: Evening) -> Iterator[str]:
    ran, evening.before = evening.findings()
    if ran.code not in (0, 4, 8, 16):
        yield f"check: exit {ran.code}: {ran.err[-300:]}"
    ran, plan = evening.plan()
    evening.made = plan or {}
    if plan is None:
        if ran.code not in (8, 16) or not ran.err.strip():
            yield f"no plan, and no reason: exit {ran.code} {ran.err[-600:]}"
        return
    if ran.code != left_code(plan):
        yield f"plan: exit {ran.code} with {len(plan['left'])} left"
    if not plan["steps"]:
        yield from _unnamed(evening, evening.before)


def _unnamed(evening: Evening, findings: Findings) -> Iterator[str]:
    """Findings that stay, and that the plan does not name as left; `trim` is for torn ends only."""
    for (code, path), finding in findings.items() if evening.operation == "repair" else ():
        named = any(re.search(rf"\b{code} ", w) and path in w for w in evening.made["left"])
        if finding["severity"] != "info" and not named:
            yield f"{code} {path[-70:]} ({finding['severity']}) stays, and is not named as left"


def _applied(evening: Evening, disks: Path, tree: Tree) -> Iterator[str]:
    whole, starts = batches(evening.dirs), evening.forecast()
    done = run("apply", evening.root / "plan.json", "--yes", "--state-dir", evening.root / "state")
    if done.code != 1 + left_code(evening.made):
        yield f"apply: exit {done.code}: {done.err[-500:]}"
        return
    yield from _found_after(evening)
    yield from _lost(evening, whole)
    yield from _harm(evening, *starts, batches(evening.dirs) - whole)
    yield from _touched(tree, picture(disks), {step["path"] for step in evening.made["steps"]})
    evening.options = [w for w in evening.options if not str(w).endswith(("-records", "-loss"))]
    ran, again = evening.plan()
    twice = any("apply this plan first" in words for words in evening.made["left"])
    if (again is None or again["steps"]) and not twice:
        steps = [(step["path"][-60:], step.get("reason")) for step in (again or {"steps": ()})["steps"]]
        yield f"planned again: exit {ran.code}, {ran.err[-300:]} {steps}"
    undone = run("undo", "--yes", "--state-dir", evening.root / "state")
    now = picture(disks)
    if undone.code != 0 or now != tree:
        paths = sorted(path for path in tree.keys() | now.keys() if tree.get(path) != now.get(path))
        differ = [(path, tree.get(path), now.get(path)) for path in paths[:3]]
        yield f"undo: exit {undone.code} {undone.err[-300:]} {differ}"


def _found_after(evening: Evening) -> Iterator[str]:
    ran, after = evening.findings()
    before = evening.before
    if ran.code not in (0, 4, 8):
        yield f"check after: exit {ran.code}: {ran.err[-300:]}"
    yield from _unnamed(evening, {key: value for key, value in after.items() if key in before})
    turned = {(TURNS[code], path) for code, path in before if code in TURNS}
    expected = STOP | GAPS if evening.made["losses"] else STOP
    expected |= {"P03", "C04", "C10b"} if evening.operation == "trim" else set()
    expected |= {words.partition(" ")[0] for words in evening.made["left"]}
    expected |= {"N05"} if "L13" in evening.codes else set()
    expected |= {"P05"} if evening.codes & {"L13", "L15"} else set()
    for (code, path), finding in after.items():
        if (code, path) not in before.keys() | turned and code not in expected:
            yield f"new: {code} {path[-70:]}: {finding['message'][:150]}"


def _lost(evening: Evening, whole: Batches) -> Iterator[str]:
    """Batches that were sound are there, but for what the plan calls lost, and second copies."""
    after = batches(evening.dirs)
    gone = whole - after
    if "L16" in evening.codes:
        gone = Counter({key: number for key, number in gone.items() if not after[key]})
    count = sum(key[3] * number for key, number in gone.items())
    lost = sum(loss["records"] for loss in evening.made["losses"])
    if count > lost and not evening.codes & UNREADABLE:
        yield f"{count} records of sound batches are gone, the plan says {lost}: {list(gone)[:3]}"


def _harm(
    evening: Evening, broker: Plan, partitions: dict[tuple[str, str], Plan], back: Batches
) -> Iterator[str]:
    """The start after it does no more harm than the one before would have done.

    Records of mended batches came `back`: a start that goes on to cut there loses them too, by a note; so
    does one that could not load the log before.
    """
    then, later = evening.forecast()
    if broker.get("outcome") == "starts" != then.get("outcome") and not evening.made["left"]:
        yield f"the broker refuses now: {then.get('reason')}"
    for key in later.keys() & partitions.keys():
        was, line = partitions[key], later[key]
        lost = [sum(e.get("records_lost") or 0 for e in row["effects"]) for row in (was, line)]
        if (
            lost[1] > lost[0]
            and not evening.codes & HIDING
            and not _told(evening, was, lost[1] - lost[0], back)
        ):
            yield f"{key}: the start loses {lost[1]} records, before it were {lost[0]}"
        ends = [row["after"]["log_end_offset"] for row in (was, line)]
        if None not in ends and ends[1] < ends[0] and not evening.codes & CLAIM_MORE:
            yield from (
                () if evening.operation == "trim" else [f"{key}: ends at {ends[1]} after it, was {ends[0]}"]
            )


def _told(evening: Evening, was: Plan, more: int, back: Batches) -> bool:
    """Whether a note says that the start loses `more`: of what came back, or behind what ended the load."""
    place = f"{was['topic']}-{was['partition']}"
    notes = [words for words in evening.made["notes"] if words.startswith(f"{was['dir']}/{place}: ")]
    if was["failure"]:
        return any(f"after this plan it can, and the next start cuts {more:,} " in words for words in notes)
    readable = sum(each[3] * number for each, number in back.items() if each[0] == place)
    return more <= readable and any(f": {more:,} records that no reader gets now" in words for words in notes)


def _touched(tree: Tree, now: Tree, mine: set[str]) -> Iterator[str]:
    """Only the files of the steps changed; their mode, owner and time stay."""
    for path in tree.keys() | now.keys():
        old, new = tree.get(path), now.get(path)
        if old == new or (old and new and stat.S_ISDIR(int(str(old[0])))):
            continue
        if path not in mine:
            yield f"{path[-60:]} changed, no step names it"
        if old and new and old[:4] != new[:4]:
            yield f"{path[-60:]}: mode, owner or time {old[:4]} became {new[:4]}"
