"""The manual: every check's docstring, taken apart for `segmend explain`.

A page is a title line and these headings in column 0, each with an indented body.
"""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass

from .registry import Check

HEADINGS = ("Codes", "What it means", "What the broker does", "What to do", "Kafka")

# "E02, E03: " or "The others: " begins what is said of these codes alone.
_LABEL = re.compile(r"(?:^|(?<=[.)\"] ))((?:[A-Z]\d\d[a-z]?(?:, | and )?)+|The others): ")
_SENTENCE = re.compile(r"(?<=[.)\"]) (?=[A-Z])")
_ENOUGH = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One check's manual page: `codes` maps each code to its one-liner, `sections` heading to text."""

    title: str
    codes: dict[str, str]
    sections: dict[str, str]


def parse_page(text: str) -> Page:
    """Take a docstring apart; missing headings are simply not in `sections`."""
    title, _, rest = text.strip().partition("\n")
    sections: dict[str, list[str]] = {}
    current: list[str] = []
    for line in rest.splitlines():
        if line in HEADINGS:
            current = sections.setdefault(line, [])
        else:
            current.append(line)
    bodies = {name: textwrap.dedent("\n".join(lines)).strip() for name, lines in sections.items()}
    return Page(title=title.rstrip("."), codes=_codes(bodies.get("Codes", "")), sections=bodies)


def _codes(body: str) -> dict[str, str]:
    codes: dict[str, str] = {}
    last = ""
    for line in body.splitlines():
        if line.startswith(" "):
            codes[last] += " " + line.strip()
        elif line:
            last, _, text = line.partition(" ")
            codes[last] = text.strip()
    return codes


def broker_line(page: Page, code: str) -> str:
    """What the page says that the broker does about `code`: a sentence, or two short ones."""
    shared, *labelled = _LABEL.split(" ".join(page.sections.get("What the broker does", "").split()))
    told = dict(zip(labelled[::2], labelled[1::2], strict=True))
    own = next((text for label, text in told.items() if code in re.split(r", | and ", label)), None)
    line, *others = _SENTENCE.split(own or shared.strip() or told.get("The others", ""))
    for sentence in others:
        if len(line) >= _ENOUGH and line.count('"') % 2 == 0:
            break
        line = f"{line} {sentence}"
    return line.strip()


def page_of(check: Check) -> Page:
    """The manual page of a check."""
    return parse_page(check.page)
