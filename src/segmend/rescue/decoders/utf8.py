"""UTF-8 text."""

from __future__ import annotations

from segmend.errors import UsageError
from segmend.rescue.decoders import Decoded


def make(path: str | None) -> Utf8:
    """Raises `UsageError`: text has no schema."""
    if path is not None:
        raise UsageError("--decode utf8 takes no schema")
    return Utf8()


class Utf8:
    """Text that is sound UTF-8."""

    def decode(self, data: bytes) -> Decoded:
        """The text itself."""
        try:
            return Decoded(text=data.decode())
        except UnicodeDecodeError as error:
            return Decoded(reason=f"not UTF-8 at byte {error.start}")

    def schema(self) -> None:
        """None is known."""
