"""Colours, or none: the few ways in which text is set apart at a terminal."""

from __future__ import annotations

from segmend.frozen import dataclass
from segmend.report.text import quoted

_CODES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "cyan": "36",
    "title": "1;4",
}


@dataclass(frozen=True, slots=True)
class Style:
    """Sets text apart when `color` is on; gives it back as it is when off.

    `program` are the words by which segmend can be called where its commands are read.
    """

    color: bool = False
    program: str = "segmend"

    def __call__(self, name: str | None, text: str) -> str:
        """`text` in the style `name`: bold, dim, red, green, yellow, blue, cyan, title."""
        if not self.color or not name or not text:
            return text
        return f"\x1b[{_CODES[name]}m{text}\x1b[0m"

    def severity(self, severity: str, text: str) -> str:
        """`text` in the colour of a finding's severity."""
        return self({"error": "red", "warning": "yellow", "info": "blue"}.get(severity), text)

    def command(self, words: str) -> str:
        """What comes next, to be copied: a command of segmend, or a sentence."""
        words = quoted(words)
        own = words.startswith("segmend ")
        called = words.replace("; segmend ", f"; {self.program} ")
        return self("cyan", f"{self.program}{called.removeprefix('segmend')}" if own else words)


PLAIN = Style()
