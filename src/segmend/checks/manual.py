"""What a check declares: how deep it looks, at what, and its codes with their page in the manual.

`segmend explain`, the reports and the line about the broker in each finding are rendered from it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from types import ModuleType

from segmend.findings import Severity
from segmend.frozen import dataclass, field, frozen

# Columns of the text under a heading.
_WIDTH = 88


class Level(enum.IntEnum):
    """STARTUP: what a broker reads while loading. DEFAULT: all metadata and indexes against
    the batch headers. DEEP: every CRC and every record."""

    STARTUP = 0
    DEFAULT = 1
    DEEP = 2


class Scope(enum.IntEnum):
    """What `run` is called with: a `BrokerContext`, a `LogDir`, a `PartitionDir`, a `SegmentView`, or
    a `ReadFailure`: a thing in a dir that could not be read while the others were looked at."""

    BROKER = 0
    DIR = 1
    PARTITION = 2
    SEGMENT = 3
    FAILURE = 4


class Consequence(enum.Enum):
    """What starting a broker would do, worst first; the value is how a report says it."""

    LOSES = "loses data"
    REFUSES = "refuses to start"
    OFFLINE = "takes the log dir offline"
    FAILING = "may take the log dir offline"
    WRONG = "serves some reads wrong"
    UNKNOWN = "not known: not all could be read"
    SLOW = "starts slower"
    NONE = "starts as if nothing were wrong"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(Consequence).index(self)


# A table of codes is read by the line.
LOSES, REFUSES, OFFLINE, FAILING, WRONG, UNKNOWN, SLOW, NONE = Consequence
ERROR, WARNING, INFO = Severity


@dataclass(frozen=True, slots=True)
class Code:
    """What a check may report: how bad it is unless the finding says otherwise, and its one line.

    `clean` is what a start makes of it in general, after a clean stop, and `killed` after a kill,
    where that is something else. The only harm of a `fatal` code is that the start ends over it:
    where the forecast shows that this release does not mind, it is a warning. What the page says
    that the broker does about an `ignored` code begins with that: nothing; about an `always` one it does that
    at every start of which nothing else is told, if only soon after it. A `derived` code is about
    an index, which is made anew where the start recovers its segment, a `trimmed` one about the end of
    the log, which is cut off where the start recovers the active segment: then it is but a note.
    A `lasting` one is about the disk: no start mends it.
    A start is played as if an `unplayed` fault were not there: of it only the manual speaks.
    What an `in_the_way` code finds, no plan writes over: it explains whatever else is found of that file.
    `explains` are codes that fire for the same cause: in the same partition directory; of a fault of a
    log dir anywhere in it, of one of the broker everywhere. `explains_beside` are such codes about the same
    segment only.
    """

    name: str
    severity: Severity
    title: str
    clean: Consequence
    killed: Consequence | None = None
    fatal: bool = field(default=False, kw_only=True)
    ignored: bool = field(default=False, kw_only=True)
    always: bool = field(default=False, kw_only=True)
    derived: bool = field(default=False, kw_only=True)
    trimmed: bool = field(default=False, kw_only=True)
    unplayed: bool = field(default=False, kw_only=True)
    in_the_way: bool = field(default=False, kw_only=True)
    lasting: bool = field(default=False, kw_only=True)
    explains: tuple[str, ...] = field(default=(), kw_only=True)
    explains_beside: tuple[str, ...] = field(default=(), kw_only=True)

    def consequence(self, *, clean: bool) -> Consequence:
        """What a start makes of it; `clean`: the log dir has the marker `.kafka_cleanshutdown`."""
        return self.clean if clean or self.killed is None else self.killed


@frozen
class Page:
    """What people are told of the codes of one check.

    `broker` says in a sentence or two what the broker does, `more` goes on where there is room.
    `own` says it of single codes ("E01", or "E02, E03"); then `broker` is but an introduction to them.
    """

    meaning: str
    broker: str = ""
    more: str = ""
    own: Mapping[str, str] = field(default_factory=dict)
    advice: str
    kafka: str

    def broker_line(self, code: str) -> str:
        """What the broker does about `code`, whatever the start."""
        own = next((text for label, text in self.own.items() if code in label.split(", ")), None)
        return " ".join((own or self.broker).split())

    def sections(self) -> dict[str, str]:
        """The text under each heading."""
        own = (f"{label}: {text}" for label, text in self.own.items())
        return {
            "What it means": _wrapped(self.meaning),
            "What the broker does": _wrapped(self.broker, self.more, *own),
            "What to do": _wrapped(self.advice),
            "Kafka": _wrapped(self.kafka),
        }


def _wrapped(*texts: str) -> str:
    lines: list[str] = []
    for word in " ".join(texts).split():
        if lines and len(lines[-1]) + 1 + len(word) <= _WIDTH:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return "\n".join(lines)


@frozen
class Entry:
    """A code in the manual: its page, all codes `beside` it there, and the `level` that looks for it."""

    code: Code
    level: str
    title: str
    page: Page
    beside: tuple[Code, ...]

    @property
    def broker_line(self) -> str:
        """What the broker does about this code, whatever the start."""
        return self.page.broker_line(self.code.name)


def entries(module: ModuleType, level: str) -> Iterator[tuple[str, Entry]]:
    """The codes of a module with `CODES` and a `PAGE`, which is called as the module is."""
    codes: tuple[Code, ...] = module.CODES
    title = (module.__doc__ or "").rstrip(".")
    for code in codes:
        yield code.name, Entry(code=code, level=level, title=title, page=module.PAGE, beside=codes)
