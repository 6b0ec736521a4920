"""Values of settings, in server.properties and of topics, as brokers read them (`ConfigDef.parseType`).

Blanks around a value count for nothing, and `TRUE` is true. None stands for a value that a broker refuses, or
has from elsewhere (`${file:...}`), and for none.
"""

from __future__ import annotations

from segmend.formats import java_number
from segmend.formats.java_properties import trim


def boolean(text: str | None) -> bool | None:
    """BOOLEAN."""
    return {"true": True, "false": False}.get(trim(text or "").lower())


def integer(text: str | None) -> int | None:
    """INT."""
    return java_number.parse_int(trim(text or ""))


def long_integer(text: str | None) -> int | None:
    """LONG."""
    return java_number.parse_long(trim(text or ""))
