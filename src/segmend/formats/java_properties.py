r"""Java `.properties` text: `server.properties`, `meta.properties`.

Follows `java.util.Properties.load(InputStream)`: ISO 8859-1, `#` and `!` comments, `=`, `:`
or a blank after the key, `\` at the end of a line continues it, `\uXXXX` escapes. Comments,
order and every odd blank are kept, so that what is written back differs only where it was
changed. The one Damage kind is `bad-escape` (IllegalArgumentException "Malformed \uxxxx encoding.").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from segmend.formats.damage import Damage
from segmend.frozen import frozen

MAX_DAMAGES = 16

_NATURAL_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_BLANKS = " \t\f"
_KEY = re.compile(r"((?:\\.|[^\\=: \t\f]++)*+)[ \t\f]*[=:]?[ \t\f]*", re.DOTALL)
_ESCAPE = re.compile(r"\\(u[0-9A-Fa-f]{4}|.|\Z)", re.DOTALL)
_LETTERS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "": ""}


@frozen
class PropertyLine:
    """One logical line as it stands in the file; key and value are None for a comment or blank."""

    text: str
    position: int
    key: str | None = None
    value: str | None = None


@frozen
class JavaProperties:
    """All logical lines in file order."""

    lines: tuple[PropertyLine, ...] = ()

    def get(self, key: str) -> str | None:
        """The value of `key`; of duplicates the last wins."""
        return self.as_dict().get(key)

    def line_of(self, key: str) -> PropertyLine | None:
        return next((line for line in reversed(self.lines) if line.key == key), None)

    def as_dict(self) -> dict[str, str]:
        """Every key with the value that counts."""
        return {
            line.key: line.value for line in self.lines if line.key is not None and line.value is not None
        }


def parse(data: bytes) -> tuple[JavaProperties, tuple[Damage, ...]]:
    """Any bytes are a properties file; only a broken Unicode escape is damage."""
    damages: list[Damage] = []
    lines = []
    for position, text, logical in _logical_lines(data.decode("latin-1")):
        if logical is None:
            lines.append(PropertyLine(text=text, position=position))
            continue
        head = _KEY.match(logical)
        key_end, value_start = (head.end(1), head.end()) if head else (len(logical), len(logical))
        key = _unescape(logical[:key_end], position, damages)
        value = _unescape(logical[value_start:], position, damages)
        lines.append(PropertyLine(text=text, position=position, key=key, value=value))
    return JavaProperties(lines=tuple(lines)), tuple(damages)


def _logical_lines(text: str) -> Iterator[tuple[int, str, str | None]]:
    """(position, text as it stands, content without continuations; None for comments and blanks)."""
    start = 0
    content: list[str] = []
    for match in _NATURAL_LINE.finditer(text):
        line = match[0].rstrip("\r\n").lstrip(_BLANKS)
        if not content and (not line or line[0] in "#!"):
            yield match.start(), match[0], None
            start = match.end()
            continue
        backslashes = len(line) - len(line.rstrip("\\"))
        content.append(line[:-1] if backslashes % 2 else line)
        if backslashes % 2 == 0:
            yield start, text[start : match.end()], "".join(content)
            content = []
            start = match.end()
    if content:
        yield start, text[start:], "".join(content)


def _unescape(text: str, position: int, damages: list[Damage]) -> str:
    if "\\" not in text:
        return text

    def replace(match: re.Match[str]) -> str:
        escape = match[1]
        if len(escape) == 5:
            return chr(int(escape[1:], 16))
        if escape == "u" and len(damages) < MAX_DAMAGES:
            damages.append(Damage("bad-escape", position, "Malformed \\uxxxx encoding."))
        return _LETTERS.get(escape, escape)

    return _ESCAPE.sub(replace, text)


def trim(text: str) -> str:
    """`String.trim`: everything up to the blank is taken off, no more."""
    return text.strip("".join(map(chr, range(33))))


def render(properties: JavaProperties) -> bytes:
    """The file again, byte by byte."""
    return "".join(line.text for line in properties.lines).encode("latin-1")


def replaced(properties: JavaProperties, values: Mapping[str, str | None]) -> JavaProperties:
    """With these values, each where its key stands already, else at the end; None takes a key out.

    Of duplicates the one that counts is kept. Comments, order and all other lines stay.
    """
    counting = {key: properties.line_of(key) for key in values}
    texts = []
    for line in properties.lines:
        if line.key not in counting:
            texts.append(line.text)
        elif line is counting[line.key] and (value := values[line.key]) is not None:
            texts.append(property_line(line.key, value))
    if texts and not texts[-1].endswith(("\n", "\r")):
        texts[-1] += "\n"
    new = (key for key, line in counting.items() if line is None)
    texts += [property_line(key, value) for key in new if (value := values[key]) is not None]
    return parse("".join(texts).encode("latin-1"))[0]


def property_line(key: str, value: str) -> str:
    """`key=value` with the escapes that `Properties.store` writes, ended by a newline."""
    return f"{_escape(key, in_key=True)}={_escape(value, in_key=False)}\n"


def _escape(text: str, *, in_key: bool) -> str:
    out = []
    for at, char in enumerate(text):
        if char in "=:#!\\" or (char == " " and (in_key or at == 0)):
            out.append("\\" + char)
        elif char in "\t\n\r\f":
            out.append({"\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}[char])
        elif " " <= char <= "~":
            out.append(char)
        else:
            utf16 = char.encode("utf-16-be", "surrogatepass")
            out += [f"\\u{utf16[i : i + 2].hex().upper()}" for i in range(0, len(utf16), 2)]
    return "".join(out)
