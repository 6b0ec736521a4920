"""Files drawn by a seed, one to three settings odd, and what each release's own classes say of them.

`python -m tests.lab.settings_drawn 7 80` asks each release of the lab of so many and writes them down;
`... 8 1500 --look` only prints on which of others the model differs. Values lie at the edges of what a
release says of a setting; one name in seven is of any release, one file in seven lacks a line.
"""

import argparse
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

from segmend.broker.server_rules import server_refusals
from segmend.broker.settings import Definition, definition, definitions
from segmend.logdir.release import Release
from tests.lab import settings

RECORD = Path(__file__).parent / "settings_drawn.json"
ODD_NUMBERS = (
    *("-2", "-1", "0", "1", "2", "3", "7", "100", "1000", "65536", "1048576", "2147483647", "2147483648"),
    *(
        "9223372036854775807",
        "9223372036854775808",
        "",
        " 5",
        "5 ",
        "1k",
        "0x10",
        "1_000",
        "+5",
        "1.0",
        "true",
    ),
)
BASES = {"zookeeper": settings.ZOOKEEPER, "kraft": settings.KRAFT}


def value(chance: random.Random, known: Definition) -> str:
    """One for a setting of that definition, right or wrong."""
    if known.kind in ("INT", "LONG", "SHORT", "DOUBLE"):
        edges = [int(float(each)) for each in re.findall(r"-?\d+", known.valid)]
        near = [str(edge + step) for edge in edges for step in (-1, 0, 1)]
        return chance.choice([*ODD_NUMBERS, *near * 3])
    if known.kind == "BOOLEAN":
        return chance.choice(["true", "false", "TRUE", " false", "yes", "1", "", "tRuE"])
    words = [each for each in re.split(r"[\[\](), ]+", known.valid) if each.isalnum()] or ["a", "b"]
    one, other = chance.choice(words), chance.choice(words)
    if known.kind == "LIST":
        odd = ["", ",", "a", "a,,b", "a,a", "*", one, f"{one},{other}", one.upper(), f" {one} , {other}"]
        return chance.choice(odd)
    return chance.choice(["", "bogus", " ", one, one.upper(), f" {one}", *settings.VERSIONS])


def drawn(version: str, seed: int, count: int) -> Iterator[dict[str, str]]:
    """Files as a release may find them."""
    chance, release = random.Random(f"{seed} {version}"), Release.parse(version)
    every = definitions(topic=False)
    mine = [name for name in sorted(every) if definition(name, release, topic=False) is not None]
    kraft = 0.1 if release < (2, 8) else 0.9 if release >= (4, 0) else 0.5
    for _ in range(count):
        file = dict(each.split("=", 1) for each in BASES["kraft" if chance.random() < kraft else "zookeeper"])
        if chance.random() < 1 / 7:
            del file[chance.choice([*file])]
        for _ in range(chance.choice([1, 1, 1, 2, 3])):
            name = chance.choice(sorted(every) if chance.random() < 1 / 7 else mine)
            known = next(each for _, each in reversed(every[name].steps) if each is not None)
            file[name] = value(chance, definition(name, release, topic=False) or known)
        yield file


def short(file: dict[str, str]) -> tuple[str, dict[str, str | None]]:
    """A file as the record has it: whose, and what is other than there; null for a line that it lacks."""
    base = "kraft" if "process.roles" in file or "node.id" in file else "zookeeper"
    usual = dict(each.split("=", 1) for each in BASES[base])
    other: dict[str, str | None] = {key: text for key, text in file.items() if usual.get(key) != text}
    return base, other | {key: None for key in usual if key not in file}


def whole(base: str, other: dict[str, str | None]) -> dict[str, str]:
    """The file again."""
    found = dict(each.split("=", 1) for each in BASES[base]) | other
    return {key: text for key, text in found.items() if text is not None}


def recorded() -> list[tuple[str, dict[str, str], str]]:
    """Each release, a file, and what it said."""
    rows = json.loads(RECORD.read_text())
    return [(version, whole(base, other), said) for version, base, other, said in rows]


def asked(version: str, files: list[dict[str, str]]) -> list[str]:
    """What the release says of each; nothing if it takes it."""
    lines = ["\t".join(("server", *(f"{key}={text}" for key, text in file.items()))) for file in files]
    return settings.run(version, "Answers", lines)


def differs(version: str, file: dict[str, str], said: str) -> str | None:
    """How the model differs from what the release said: whether it takes the file."""
    ours = list(server_refusals(file, Release.parse(version)))
    return f"{version} {short(file)}: {said!r}, ours {ours}" if bool(said) != bool(ours) else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seed", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--look", action="store_true")
    options = parser.parse_args()
    rows = []
    for version in settings.ASKED:
        files = list(drawn(version, options.seed, options.count))
        answers = asked(version, files)
        found = [each for row in zip(files, answers, strict=True) if (each := differs(version, *row))]
        print(version, len(files), "asked,", sum(map(bool, answers)), "refused,", len(found), "differ")
        print("".join(f"    {each}\n" for each in found), end="", flush=True)
        rows += [json.dumps([version, *short(file), said]) for file, said in zip(files, answers, strict=True)]
    if not options.look:
        RECORD.write_text("[\n" + ",\n".join(rows) + "\n]\n")


if __name__ == "__main__":
    main()
