"""The commands that are asked of one hurt broker, and what must be so between their answers."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shlex
import stat
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import segmend
from segmend.checks import Level
from segmend.errors import SegmendError
from segmend.formats.names import parse_dir_name
from tests.checks.test_next_commands import BROUGHT_TO_LIGHT
from tests.cli.run import Ran
from tests.outside.between import between
from tests.outside.damage import HUGE
from tests.outside.held import ALL_CLEAR, Heard, Rows, judged
from tests.surgery.picture import Tree


def seen(root: Path) -> Tree:
    """Everything of every file but times of access."""
    found: Tree = {}
    for folder, names, files in os.walk(os.fsencode(root)):
        for name in (*names, *files):
            path = os.path.join(folder, name)
            s = os.lstat(path)
            found[os.fsdecode(path)] = (
                s.st_mode,
                s.st_uid,
                s.st_size,
                s.st_mtime_ns,
                s.st_ctime_ns,
                s.st_nlink,
                s.st_ino,
            )
    return found


@dataclass
class Asked:
    """A hurt broker, and what was said of it at every level; `rules` are the release, if it was told."""

    heard: Heard
    dirs: Sequence[Path]
    sound: Path
    draw: random.Random
    rules: Sequence[str]
    levels: dict[str, Ran]
    fore: Ran

    @property
    def folder(self) -> Path:
        return self.heard.folder

    @property
    def deep(self) -> Rows:
        return self.levels["--deep"].json


def played(heard: Heard, dirs: Sequence[Path], sound: Path, release: str, draw: random.Random) -> str:
    """Ask, and complain; `ok` or how it ended."""
    root = dirs[0].parents[1]
    before = seen(root)
    rules = draw.choice(((), ("--kafka", release)))
    levels = {
        level: heard.run("check", level, *dirs, *rules, "--json", "--max", "0")
        for level in ("--startup", "--jobs=2", "--deep")
    }
    fore = heard.run("forecast", *dirs, *rules, "--json")
    for command, ran in (*(("check", each) for each in levels.values()), ("forecast", fore)):
        heard.complaints += judged(command, ran)
    asked = Asked(heard, dirs, sound, draw, rules, levels, fore)
    whole = all(each.out for each in (*levels.values(), fore)) and not heard.complaints
    vast = any(int(str(row[2])) > 1 << 33 for row in before.values())
    name = draw.choice([*READING, *(CHANGING if whole and not vast else ())])
    if whole:
        checks = {level: ran.json for level, ran in levels.items()}
        heard.complaints += between(checks, fore.json, fore.code)
    if name in READING:
        READING[name](asked)
    if (after := seen(root)) != before:
        changed = {key for key in before | after if before.get(key) != after.get(key)}
        heard.say("changed by reading", sorted(changed)[:5])
    if name in CHANGING:
        CHANGING[name](asked)
    return name if whole else f"refused, {name}"


def for_people(asked: Asked) -> None:
    """The text says the same as the lines."""
    heard, dirs, rules = asked.heard, asked.dirs, asked.rules
    for words, ran in (
        (("check",), asked.levels["--jobs=2"]),
        (("check", "--deep"), asked.levels["--deep"]),
        (("forecast",), asked.fore),
    ):
        told = heard.run(*words, *dirs, *rules)
        if told.code != ran.code:
            heard.say(*words, f"exit {told.code} for people, {ran.code} with --json")
        clear = ALL_CLEAR.search(told.out)
        if clear and told.code and not (words[0] == "check" and told.code == 8):
            heard.say(
                *words, f"exit {told.code}, yet: {told.out[max(0, clear.start() - 100) : clear.end() + 100]}"
            )
        if any(ord(char) < 32 and char != "\n" for char in told.out + told.err):
            heard.say(*words, "control characters reach the terminal")


def looked_at(asked: Asked) -> None:
    """Whatever else only reads: no traceback, no end of time, and no exit 0 over what could not be read."""
    files = [
        path for each in asked.dirs if each.is_dir() for path in sorted(each.rglob("*"), key=os.fsencode)
    ]
    chosen = asked.draw.sample(files, min(6, len(files)))
    for path in (*asked.dirs, *chosen):
        for more in ((), ("--json",), ("--records",), ("--full",)):
            asked.heard.run("show", path, *more)
    asked.heard.run("show", *asked.dirs, "--json")
    for topic in ("startup", "retention", "compaction", "upgrade"):
        asked.heard.run("explain", topic, *asked.dirs, *asked.rules, "--json")
    asked.heard.run("fleet", "capacity", asked.dirs[0].parent, "--driver", "local", "--json")


def beside_the_sound(asked: Asked) -> None:
    """A replica is not equal to one whose log has other bytes."""
    for path in asked.dirs:
        for folder in (
            sorted(path.iterdir(), key=os.fsencode) if path.is_dir() and os.access(path, os.R_OK) else ()
        ):
            sound = asked.sound / path.name / folder.name
            if not (folder.is_dir() and sound.is_dir() and parse_dir_name(folder.name).kind == "current"):
                continue
            differ = log_bytes(folder) != log_bytes(sound)
            if not differ and asked.draw.random() < 0.9:
                continue
            ran = asked.heard.run("diff", folder, sound, "--json")
            asked.heard.complaints += judged("diff", ran)
            if differ and ran.code == 0:
                asked.heard.say("diff: equal, exit 0", folder.name, ran.out[-1200:])
            if not differ and ran.code:
                asked.heard.say("diff: not equal", folder.name, ran.out[-1200:], ran.err[-300:])


def log_bytes(folder: Path) -> dict[str, bytes | str]:
    """What is in the logs, without holes; of what cannot be read, and of names that no broker reads, that."""
    found: dict[str, bytes | str] = {}
    for path in folder.iterdir():
        if path.name.endswith(".log"):
            if path.name[:-4].isdecimal() and path.is_file() and path.stat().st_size < 1 << 24:
                found[path.name] = path.read_bytes()
            else:
                found[path.name] = "odd"
    return {name: data for name, data in found.items() if data}


def rescued(asked: Asked) -> None:
    """All offsets of the sound log are there, or are said to be missing, or nothing tells that they were."""
    ran = asked.heard.run("rescue", *asked.dirs, "--out", asked.folder / "rescued", "--as", "jsonl", "--json")
    asked.heard.complaints += judged("rescue", ran)
    if not ran.out or ran.code & 16:
        return
    if ran.code == 0:
        # Its gaps show that a cleaner was there, it says; a check does not look for that.
        by_gaps = {each["topic"] for each in ran.json[-1]["policy_untold"] if each["gaps"] == "compacted"}
        for row in asked.deep:
            if row.get("code") == "L24" and row["severity"] == "warning" and row["topic"] in by_gaps:
                continue
            if (
                row["type"] == "finding"
                and row["code"] in ("L07", "L08", "L01", "L02", "L03", "L24", "K14b", "N29")
                and "the next segment goes on" not in row["message"]
                and (row["file"] or "").endswith(".log")
                and parse_dir_name((row["file"] or "").partition("/")[0]).kind == "current"
            ):
                asked.heard.say("rescue exits 0, and check", row["code"], row["file"], row["message"])
        # It reads no index.
        unread = [each for each in asked.deep[-1].get("unreadable", ()) if not each.endswith("index")]
        if unread:
            asked.heard.say("rescue exits 0, and check could not read", unread)


def by_the_api(asked: Asked) -> None:
    """`segmend.check`, `segmend.forecast` and the audit give the findings of the commands."""
    heard, kafka = asked.heard, asked.rules[1] if asked.rules else None
    out = asked.folder / "told.json"
    out.touch()
    out.chmod(0o666)

    def act() -> int:
        try:
            opened = [segmend.open(str(path)) for path in asked.dirs]
        except SegmendError as error:
            return int(error.exit_code)
        found = [each.to_json() for each in segmend.check(*opened, level=Level.DEEP, kafka=kafka)]
        lines = [each.to_json() for each in segmend.forecast(*opened, kafka=kafka)]
        out.write_text(json.dumps([found, lines]))
        return 0

    ran = heard.do("the API", act)
    if ran.code:
        if asked.levels["--deep"].code in (0, 4):
            heard.say("the API ends with", ran.code, ran.err[-600:])
        return
    found, lines = json.loads(out.read_text())
    mine = Counter(
        (row["code"], row["dir"], row["file"], row["position"], row["message"])
        for row in asked.deep
        if row["type"] == "finding"
    )
    theirs = Counter((row["code"], row["dir"], row["file"], row["position"], row["message"]) for row in found)
    if mine != theirs:
        heard.say(
            "the API finds",
            list((theirs - mine).items())[:3],
            "the command",
            list((mine - theirs).items())[:3],
        )
    if asked.fore.out:
        keys = ("type", "dir", "file", "outcome", "after", "lost", "unserved", "unknown")
        a, b = ([[row.get(key) for key in keys] for row in rows] for rows in (asked.fore.json, lines))
        if a != b:
            heard.say(
                "the API forecasts",
                [each for each in b if each not in a][:2],
                [each for each in a if each not in b][:2],
            )


def audited(asked: Asked) -> None:
    """An audit of one broker finds what a check does; what it says of replicas (`R`) is its own.

    Where there is much to read it asks for workers, and Python may lie where only root reads.
    """
    out, where = asked.folder / "report", asked.dirs[0].parent
    if asked.heard.uid and any(int(str(row[2])) >= min(HUGE) for row in seen(where).values()):
        return
    words = ("--out", out, "--driver", "local", "--deep", "--json", *asked.rules)
    ran = asked.heard.run("fleet", "audit", where, *words)
    if not ran.out or not asked.levels["--deep"].out:
        return

    def told(rows: Rows) -> set[tuple[str, str, str]]:
        found = (row for row in rows if row["type"] == "finding" and row["code"][0] != "R")
        # Tables have no bytes that are no UTF-8: they are spelled out there.
        spelled = ((row["code"], os.path.basename(row["dir"]), row["file"] or "") for row in found)
        return {
            (code, name, file.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"))
            for code, name, file in spelled
        }

    theirs, mine = told(ran.json), told(asked.deep)
    if theirs != mine:
        asked.heard.say("the audit has", sorted(theirs - mine)[:4], "check has", sorted(mine - theirs)[:4])


def mended(asked: Asked) -> None:
    """A plan applied and undone leaves every byte as it was; what is left is no worse than before."""
    heard, state, plan = asked.heard, asked.folder / "state", asked.folder / "plan.json"
    operation = asked.draw.choice(("repair", "repair", "trim", "identity"))
    ran = heard.run("plan", operation, *asked.dirs, *asked.rules, "-o", plan)
    if not plan.exists():
        if ran.code not in (8, 16, 0, 4):
            heard.say("plan", operation, "no plan, and exit", ran.code, ran.err[-300:])
        return
    made = json.loads(plan.read_text())
    if not made["steps"]:
        return
    apply_and_undo(asked, plan, state, operation)


OFFSETS_GONE = {"L24", "N08"}
"""Codes of what is missing behind a torn end that was cut off, which the plan tells."""


def apply_and_undo(asked: Asked, plan: Path, state: Path, what: str) -> None:
    heard, root = asked.heard, asked.dirs[0].parents[1]
    before = bytes_seen(root)
    done = heard.run("apply", plan, "--yes", "--state-dir", state)
    if done.code not in (1, 5):
        heard.say(what, "apply exits", done.code, done.err[-500:])
        if bytes_seen(root) != before:
            heard.say(what, "and changed something")
        return
    after = heard.run("check", "--jobs=2", *asked.dirs, *asked.rules, "--json", "--max", "0")
    errors = {
        (row["code"], row["file"])
        for row in after.json
        if row["type"] == "finding" and row["severity"] == "error"
    }
    old = {(row["code"], row["file"]) for row in asked.levels["--jobs=2"].json if row["type"] == "finding"}
    old |= {(row["code"], row["file"]) for row in asked.deep if row["type"] == "finding"}
    told = BROUGHT_TO_LIGHT | (OFFSETS_GONE if "missing from then on" in plan.read_text() else set())
    if new := errors - old - {each for each in errors if each[0] in told}:
        heard.say(what, "after apply check finds", sorted(new, key=str)[:5])
    back = heard.run("undo", "--state-dir", state, "--yes")
    if back.code not in (0, 1):
        heard.say(what, "undo exits", back.code, back.err[-500:])
    elif (now := bytes_seen(root)) != before:
        heard.say(
            what,
            "undone, and not as before",
            [(key, before.get(key), now.get(key)) for key in before | now if before.get(key) != now.get(key)][
                :3
            ],
        )


def bytes_seen(root: Path) -> Tree:
    """As `seen`, without inodes and change times, and with what is in the files."""
    found: Tree = {}
    for path, (mode, uid, size, mtime, _ctime, links, _inode) in seen(root).items():
        data = b""
        if stat.S_ISREG(int(str(mode))) and int(str(size)) < 1 << 24:
            data = Path(path).read_bytes()
        found[path] = (
            mode,
            uid,
            size if stat.S_ISREG(int(str(mode))) else 0,
            mtime if not stat.S_ISLNK(int(str(mode))) else 0,
            links if not stat.S_ISDIR(int(str(mode))) else 0,
            hashlib.sha256(data).hexdigest(),
        )
    return found


def pasted(asked: Asked) -> None:
    """A next command does what it says."""
    heard = asked.heard
    rows = [
        row
        for row in asked.deep
        if row["type"] == "finding" and row["remedy"] and row["remedy"]["command"].startswith("segmend ")
    ]
    if not rows:
        return
    row = asked.draw.choice(rows)
    words = shlex.split(row["remedy"]["command"])[1:]
    place = (row["file"] or "").partition("/")[0]
    sound = str(asked.sound / os.path.basename(row["dir"]) / place)
    words = [sound if word in ("LEADER_PARTITION_DIR", "REPLICA_PARTITION_DIR") else word for word in words]
    plan = asked.folder / "plan.json"
    words = [str(plan) if word == "plan.json" else word for word in words]
    what = f"{row['code']} {row['file']} next: {shlex.join(words).replace(str(asked.folder), '')}"
    ran = heard.run(*words)
    if words[0] != "plan":
        if ran.code & ~12:
            heard.say(what, "exit", ran.code, ran.err[-300:])
        return
    if ran.code == 16 and "say which it is: --kafka" in ran.err:
        return
    if ran.code not in (0, 4) or not plan.exists():
        heard.say(what, "exit", ran.code, ran.err[-300:])
        return
    made = json.loads(plan.read_text())
    if row["remedy"]["safety"] == "safe" and made["losses"]:
        heard.say(what, "is called safe and loses", made["losses"])
    if not made["steps"] and not made["left"]:
        heard.say(what, "has no steps")
    if made["steps"]:
        apply_and_undo(asked, plan, asked.folder / "state", what)


READING = {
    "people": for_people,
    "looks": looked_at,
    "diff": beside_the_sound,
    "rescue": rescued,
    "api": by_the_api,
    "audit": audited,
}
CHANGING = {"mended": mended, "pasted": pasted}
