"""What an engine does: walk sound batches in a window, stop at whatever is not one.

Both engines, `reference.ReferenceWalker` and `native.NativeWalker`, implement `Walker`.
`scan` drives them: it moves the window, decides what damage is, and finds the way past it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, Protocol

from segmend.formats.batch import RecordBatch
from segmend.formats.java_number import LONG_MAX
from segmend.formats.producer_snapshot import ProducerStateEntry
from segmend.frozen import frozen
from segmend.kernel.stretches import Stretches
from segmend.kernel.types import IndexRule, NoProblem, Problem, ProblemKind, SoundFacts

END: Final = 0
"""`position` reached the end of what was to be walked."""
MORE: Final = 1
"""The window ends too early: `need` bytes from `position` are wanted."""
DRAIN: Final = 2
"""A list is full; call `walk` again with the same window after `take_problems` and `take_deferred`."""
DAMAGE: Final = 3
"""At `position` there is no sound batch; `kind` says why."""

CONTROL_LIMIT: Final = 4096
"""A transaction marker is 78 bytes; a larger control batch is not looked into."""


class Stop(NamedTuple):
    """Why `walk`, or `decode` of a `Decoder`, returned."""

    status: int
    need: int = 0
    kind: ProblemKind | NoProblem = ""
    computed: int = 0
    detail: tuple[tuple[str, int | str], ...] = ()


class Deferred(NamedTuple):
    """A batch whose records the engine leaves to `formats.codec`."""

    position: int
    size: int


@frozen
class ScanTask:
    """What to walk of a `.log` file: the batches that begin in bytes [start, stop).

    One begins at `start`. `base_offset` is the number in the file's name. `crc` computes every checksum;
    `records` also looks into every batch, decompressing it. The bytes of the indexes are
    matched against the batches on the way. `producers` is the state at the beginning (the
    snapshot of this base offset), without which transactions that began earlier are
    unmatched. `build` makes the indexes anew. `stretches` are filled. `end` is the readable size of the
    file, which `scan.scan_log` fills in.
    """

    base_offset: int
    start: int = 0
    stop: int = LONG_MAX
    end: int = LONG_MAX
    crc: bool = True
    records: bool = False
    offset_index: bytes | memoryview | None = None
    time_index: bytes | memoryview | None = None
    producers: Sequence[ProducerStateEntry] = ()
    build: IndexRule | None = None
    stretches: Stretches | None = None


class SoFar(NamedTuple):
    """Of the facts, those that a recovery takes from the batches up to here."""

    batches: int
    max_timestamp: int
    epochs: tuple[tuple[int, int], ...]
    producers: tuple[ProducerStateEntry, ...]


class Walker(Protocol):
    """One pass over one file."""

    position: int
    """Where the next batch begins."""
    end: int
    """Readable size of the file; lowered by the driver when the file turns out to be shorter."""
    last_offset: int
    """Largest last offset so far, `base_offset - 1` before the first batch."""

    def walk(self, window: memoryview, window_start: int) -> Stop:
        """Fold batches of `window`, whose first byte is byte `window_start` of the file."""

    def admit(self, window: memoryview, window_start: int, crc: int) -> Stop:
        """As `walk` for one batch too large for any window: its CRC is `crc`, its records are not read."""

    def skip(self, end: int, next_offset: int | None) -> None:
        """Pass the damage from `position` to `end`; `next_offset` if its header is believed by a broker."""

    def take_problems(self) -> list[Problem]:
        """The problems found since the last call."""

    def take_deferred(self) -> list[Deferred]:
        """The batches left to the caller since the last call."""

    def check_records(self, batch: RecordBatch, payload: bytes | memoryview) -> None:
        """Look at the decompressed records of a magic 2 batch."""

    def count_inner(self, records: int, null_keys: int) -> None:
        """Add the inner messages of a compressed magic 0/1 wrapper."""

    def quiet(self) -> dict[str, int]:
        """From now on only count problems, by kind; the returned dict is filled when `facts` is called."""

    def so_far(self) -> SoFar:
        """What was seen up to `position`."""

    def facts(self, *, whole: bool) -> SoundFacts:
        """The end: what was seen. `whole` if the walk went to the end of the file."""


class Sought(NamedTuple):
    """What a batch header after damage must look like.

    Its offset is in [low, high], its size between the minimum of its magic and the `left`
    bytes from the beginning of the window to the end of the file.
    """

    low: int
    high: int
    left: int


class Engine(Protocol):
    name: str

    def walker(self, task: ScanTask) -> Walker:
        """A walker at the beginning of `task`."""

    def find_candidate(self, window: memoryview, start: int, sought: Sought) -> int:
        """The first place from `start` in `window` that looks like a batch header, or -1."""


def sort_problems(problems: Iterable[Problem]) -> list[Problem]:
    """By position, then kind."""
    return sorted(problems, key=lambda problem: (problem.position, problem.kind))
