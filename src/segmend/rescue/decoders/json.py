"""JSON in UTF-8, left as it is written: Debezium's envelopes, too.

A schema is one of Spark's (`df.schema.json()`), which `from_json` takes: given, and then each value has to
fit it; else one is found out from all values.
"""

from __future__ import annotations

import json
from typing import Final

from segmend.errors import UsageError
from segmend.rescue.confluent import HEADER, schema_id
from segmend.rescue.decoders import Decoded, read_schema, too_large
from segmend.rescue.json_types import Inferred, Type, misfit, well_formed

_LONG: Final = 1 << 63
_LARGEST: Final = 4 << 20
"""Bytes of a value: thirty times as much memory, since its text is not written anew."""


def make(path: str | None) -> Json:
    """Raises `UsageError` if the file has no schema of Spark."""
    if path is None:
        return Json(None)
    try:
        given = json.loads(read_schema(path))
        wrong = well_formed(given)
    except (ValueError, RecursionError) as error:
        wrong = str(error)
    if wrong:
        raise UsageError(f"{path}: is no schema as Spark's `df.schema.json()` writes it: {wrong}")
    return Json(given)


class Json:
    """Checks values, and finds out their schema if none is given."""

    def __init__(self, given: Type | None) -> None:
        self._given = given
        self._inferred = Inferred()

    def decode(self, data: bytes) -> Decoded:
        """The text itself; a header of a schema registry is left out."""
        number = schema_id(data)
        body = data if number is None else data[HEADER:]
        if large := too_large(body, _LARGEST):
            return large
        try:
            text = body.decode()
            value = json.loads(text, parse_constant=_no_number, parse_int=_whole)
        except UnicodeDecodeError as error:
            return Decoded(schema_id=number, reason=f"not UTF-8 at byte {error.start}")
        except RecursionError:
            return Decoded(schema_id=number, reason="nested too deep")
        except ValueError as error:
            at = f" at character {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
            return Decoded(schema_id=number, reason=f"not JSON{at}")
        if self._given is None:
            self._inferred.add(value)
        elif wrong := misfit(value, self._given):
            return Decoded(schema_id=number, reason=wrong)
        return Decoded(text=text, schema_id=number)

    def schema(self) -> Type | None:
        """That of Spark: given, or found out."""
        return self._given if self._given is not None else self._inferred.schema()


def _no_number(name: str) -> None:
    raise ValueError(name)


def _whole(digits: str) -> int | float:
    """A number that is no `long` is a `double` for Spark; Python takes time for very many digits."""
    value = int(digits) if len(digits) <= 20 else _LONG
    return value if -_LONG <= value < _LONG else float(_LONG)
