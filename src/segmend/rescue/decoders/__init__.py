"""What keys and values are decoded as, one file each, found by its name.

Each has `make(path) -> Decoder`. A decoder answers whatever the bytes are: with text, or with the reason why
not. Some need packages of an extra and are loaded only when they are asked for.
"""

from __future__ import annotations

import struct
from importlib import import_module
from typing import Final, NamedTuple, Protocol

from segmend.discovery import modules_in
from segmend.errors import MissingExtra, SegmendError, UsageError, system_words
from segmend.frozen import frozen
from segmend.logdir.disk import FileReader

SIDES: Final = ("key", "value")
LARGEST: Final = 1 << 20
"""Bytes of what is taken apart: in Python, values may take three hundred times as much memory."""
FAULTS: Final = (
    ArithmeticError, AssertionError, AttributeError, EOFError, LookupError, MemoryError, NotImplementedError,
    RecursionError, struct.error, TypeError, ValueError,
)  # fmt: skip
"""What libraries raise of bytes that are not what they should be."""
_SCHEMA_FILE: Final = 16 << 20
_REASON: Final = 160


class Decoded(NamedTuple):
    """One key or value: its text, or the reason why there is none; both None for null."""

    text: str | None = None
    schema_id: int | None = None
    reason: str | None = None


class Decoder(Protocol):
    """Decodes the keys or the values of a partition."""

    def decode(self, data: bytes) -> Decoded:
        """Never raises."""

    def schema(self) -> object:
        """What was found out about the schema, or was given; None where nothing was."""


@frozen
class Decode:
    """What is asked for: `kind` is one of `names`, `path` a schema or a directory of schemas."""

    side: str
    kind: str
    path: str | None = None

    def __str__(self) -> str:
        """As it is given."""
        return f"{self.side}={self.kind}" + (f":{self.path}" if self.path else "")


def names() -> list[str]:
    """The kinds; none of them is loaded."""
    return modules_in(__path__)


def asked(text: str) -> Decode:
    """`[key=|value=]KIND[:SCHEMA]`; raises `UsageError`."""
    side, equals, rest = text.partition("=")
    if not equals or side not in SIDES:
        side, rest = "value", text
    kind, _, path = rest.partition(":")
    if kind not in names():
        kinds = ", ".join(names())
        raise UsageError(f"--decode {text}: is not [key=|value=]KIND[:SCHEMA] with a KIND of {kinds}")
    return Decode(side=side, kind=kind, path=path or None)


def decoder(of: Decode) -> Decoder:
    """What decodes it; raises `MissingExtra`, and `UsageError` for a schema that is none."""
    try:
        module = import_module(f"{__name__}.{of.kind}")
    except ModuleNotFoundError as error:
        if str(error.name).startswith("segmend"):
            raise
        raise MissingExtra(f"--decode {of.kind} needs {of.kind}'s library", "decode") from None
    made: Decoder = module.make(of.path)
    return made


def failed(error: Exception, schema_id: int | None = None) -> Decoded:
    """What a library could not decode, in its words."""
    words = " ".join(f"{type(error).__name__}: {error}".split())
    return Decoded(schema_id=schema_id, reason=words.encode("ascii", "backslashreplace").decode()[:_REASON])


def too_large(data: bytes, most: int = LARGEST) -> Decoded | None:
    """The answer where there are more bytes than are taken apart."""
    if len(data) <= most:
        return None
    return Decoded(reason=f"{len(data):,} bytes; more than {most:,} are not taken apart")


def read_schema(path: str) -> bytes:
    """The bytes of a schema's file; raises `SegmendError`."""
    try:
        with FileReader(path) as reader:
            if reader.size > _SCHEMA_FILE:
                raise UsageError(f"{path}: {reader.size:,} bytes are no schema")
            return reader.read(reader.size)
    except OSError as error:
        raise SegmendError(f"{path}: {system_words(error)}") from None
