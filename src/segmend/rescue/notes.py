"""Notes of a rescue or an export in OUT: small JSON objects that tell when they are damaged."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import Final

from segmend.errors import SegmendError
from segmend.json_values import JsonObject
from segmend.logdir.files import FileEntry
from segmend.rescue.outlet import Folder

_SUM: Final = "sum"


def put(outlet: Folder, name: str, told: JsonObject) -> None:
    """Write a note anew, whole and synced."""
    outlet.put(name, json.dumps({**told, _SUM: _sum(told)}).encode())


def held(path: str, instead: str) -> JsonObject:
    """What the note says; raises `SegmendError`, which tells what to do `instead`, where it is damaged.

    Those of earlier releases have no sum.
    """
    try:
        told = json.loads(FileEntry.at(path).read())
    except ValueError:
        told = None
    if not isinstance(told, dict) or told.pop(_SUM, _sum(told)) != _sum(told):
        raise SegmendError(f"{path}: is damaged; {instead}")
    return told


def _sum(told: Mapping[str, object]) -> str:
    return sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:32]
