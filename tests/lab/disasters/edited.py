"""Small files that somebody opened, mended by hand or carried over another system: still text."""

import random
import re
from collections.abc import Callable
from pathlib import Path

from tests.lab.disasters.bases import TOPICS
from tests.lab.disasters.scene import META, Scene, chosen
from tests.lab.disasters.wound import Hurt, Wound

DIRS = ("d0", "d1")
Edit = Callable[[str, random.Random], str | bytes]


def each_line(change: Callable[[str], str]) -> Edit:
    """The same done to every line."""
    return lambda text, _draw: "".join(f"{change(line)}\n" for line in text.splitlines())


def one_line(change: Callable[[str, random.Random], str]) -> Edit:
    """Something done to one line."""

    def edit(text: str, draw: random.Random) -> str:
        lines = text.splitlines() or [""]
        at = draw.randrange(len(lines))
        lines[at] = change(lines[at], draw)
        return "".join(f"{line}\n" for line in lines)

    return edit


def number_as(form: Callable[[str], str]) -> Edit:
    """One number written in another way."""

    def edit(text: str, draw: random.Random) -> str:
        found = list(re.finditer(r"(?<![\w-])\d+(?!\w)", text))
        if not found:
            raise LookupError("no number")
        match = draw.choice(found)
        return text[: match.start()] + form(match[0]) + text[match.end() :]

    return edit


def blank_as(blank: str) -> Edit:
    """Another blank in the place of each."""
    return lambda text, _draw: text.replace(" ", blank)


EDITS: dict[str, Edit] = {
    "crlf": lambda text, _draw: text.replace("\n", "\r\n"),
    "mac": lambda text, _draw: text.replace("\n", "\r"),
    "bom": lambda text, _draw: "\ufeff" + text,
    "utf-16": lambda text, _draw: text.encode("utf-16"),
    "blanks-behind": each_line(lambda line: f"{line} "),
    "tab-behind": one_line(lambda line, _draw: f"{line}\t"),
    "blanks-before": each_line(lambda line: f" {line}"),
    "tabs": blank_as("\t"),
    "double-blanks": blank_as("  "),
    "hard-blanks": blank_as("\u00a0"),
    "no-newline": lambda text, _draw: text.rstrip("\n"),
    "lines-behind": lambda text, _draw: f"{text}\n\n",
    "line-before": lambda text, _draw: f"\n{text}",
    "nul-behind": lambda text, draw: text.rstrip("\n") + "\n" * draw.randint(0, 1) + "\0" * 7,
    "dos-end": lambda text, _draw: f"{text}\x1a",
    "comment": lambda text, draw: f"# edited by hand\n{text}" if draw.random() < 0.5 else f"{text}# was 7\n",
    "quoted": lambda text, _draw: re.sub(r"(?<=[=: ])([^\s=:,{}\"]+)$", r'"\1"', text, flags=re.MULTILINE),
    "plus": number_as(lambda number: f"+{number}"),
    "zeros": number_as(lambda number: f"000{number}"),
    "point": number_as(lambda number: f"{number}.0"),
    "long": number_as(lambda number: f"{number}L"),
    "minus-zero": number_as(lambda _number: "-0"),
    "huge": number_as(lambda number: f"{number}00000000000"),
    "other-digits": number_as(lambda number: number.translate({48 + n: 0x966 + n for n in range(10)})),
    "line-twice": one_line(lambda line, _draw: f"{line}\n{line}"),
    "line-gone": lambda text, draw: "".join(draw_out(text.splitlines(keepends=True), draw)),
    "sorted": lambda text, _draw: "".join(f"{line}\n" for line in sorted(text.splitlines())),
    "twice": lambda text, _draw: text + text,
    "conflict": one_line(lambda line, _draw: f"<<<<<<< mine\n{line}\n=======\n{line}\n>>>>>>> theirs"),
    "upper": one_line(lambda line, _draw: line.upper()),
    "colon": lambda text, _draw: text.replace("=", ": "),
    "spaced": lambda text, _draw: text.replace("=", " = ").replace(":", " : "),
    "escaped": lambda text, _draw: text.replace("=", "\\u003d", 1),
    "continued": one_line(lambda line, draw: f"{line[: len(line) // 2]}\\\n   {line[len(line) // 2 :]}"),
    "comma-behind": lambda text, _draw: text.replace("}", ",}"),
    "more-fields": lambda text, _draw: text.replace("{", '{"more":{"a":[1,null]},', 1),
    "field-gone": lambda text, draw: re.sub(rf'"{draw.choice(FIELDS)}":[^,{{}}\[\]]+,?', "", text, count=1),
    "field-twice": lambda text, draw: re.sub(
        r'("\w+":)(-?\d+)', r"\1\2,\g<1>7", text, count=draw.randint(1, 2)
    ),
    "field-null": lambda text, draw: re.sub(rf'("{draw.choice(FIELDS)}":)[^,{{}}\[\]]+', r"\1null", text),
    "field-text": lambda text, _draw: re.sub(r'("\w+":)(-?\d+)', r'\1"\2"', text),
}
"""By name; not each changes each file."""
FIELDS = (
    "leaderId",
    "leaderEpoch",
    "votedId",
    "votedDirectoryId",
    "data_version",
    "clusterId",
    "version",
    "brokerEpoch",
)


def draw_out(lines: list[str], draw: random.Random) -> list[str]:
    """All but one."""
    if lines:
        del lines[draw.randrange(len(lines))]
    return lines


def edited(path: Path, draw: random.Random) -> None:
    """One file, by an edit that does something to it; raises LookupError where none does."""
    text = path.read_text()
    for name in draw.sample(list(EDITS), len(EDITS)):
        try:
            new = EDITS[name](text, draw)
        except LookupError:
            continue
        data = new if isinstance(new, bytes) else new.encode()
        if data != path.read_bytes():
            path.write_bytes(data)
            return
    raise LookupError("nothing to edit")


def at_top(*names: str) -> Hurt:
    """One of these files of the log dir."""

    def hurt(scene: Scene, target: str, draw: random.Random) -> None:
        found = [path for name in names if (path := scene.log_dir(target) / name).is_file()]
        edited(chosen(draw, found, 1)[0], draw)

    return hurt


def in_partition(name: str) -> Hurt:
    """That file of the partition, or of the metadata log."""
    return lambda scene, target, draw: edited(
        scene.partition(META[:-2] if target == "meta" else target) / name, draw
    )


CHECKPOINTS = (
    "recovery-point-offset-checkpoint",
    "replication-offset-checkpoint",
    "log-start-offset-checkpoint",
    "cleaner-offset-checkpoint",
)
EDITED = {
    "edit-identity": Wound("edits", at_top("meta.properties"), DIRS),
    "edit-checkpoint": Wound("edits", at_top(*CHECKPOINTS), DIRS),
    "edit-marker": Wound("edits", at_top(".kafka_cleanshutdown"), DIRS),
    "edit-epochs": Wound("edits", in_partition("leader-epoch-checkpoint"), (*TOPICS[:6], "meta")),
    "edit-topic-id": Wound("edits", in_partition("partition.metadata"), (*TOPICS[:6], "meta"), (2, 8)),
    "edit-quorum": Wound("edits", in_partition("quorum-state"), ("meta",), (3, 0)),
}
