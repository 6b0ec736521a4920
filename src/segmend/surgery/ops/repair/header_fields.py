"""Fields of a batch header that its CRC does not cover, put right where they are proven.

The size and the magic byte are proven by the CRC, which only fits with the right ones; the base
offset and the leader epoch by the batches on both sides. The checks have found the values;
bytes of records are never touched. Follows `DefaultRecordBatch`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from segmend.findings import Finding
from segmend.surgery.new_bytes import NewBytes
from segmend.surgery.ops.repair.scene import BeyondRepair
from segmend.surgery.step import Step
from segmend.surgery.steps.patch_file import PatchFile

CODES: Final = frozenset(("L08", "L09", "L10", "L11", "L12", "L13", "L14", "L15", "L17"))

_MAGIC: Final = 2


def patch(finding: Finding) -> Step:
    """The step for one finding; raises `BeyondRepair` if nothing proves the right value."""
    numbers = {name: value for name, value in finding.detail.items() if isinstance(value, int)}
    position, data = _FIELDS[finding.code](finding, numbers)
    return PatchFile.at(
        f"{finding.dir}/{finding.file}", position, NewBytes.inline(data), f"{finding.code} {finding.message}"
    )


def _position(finding: Finding) -> int:
    if finding.position is None:
        raise BeyondRepair("the batch's place is not known")
    return finding.position


def _size(finding: Finding, facts: Mapping[str, int]) -> tuple[int, bytes]:
    return _position(finding), facts["right_size"].to_bytes(4, "big")


def _magic(finding: Finding, _facts: Mapping[str, int]) -> tuple[int, bytes]:
    return _position(finding), bytes([_MAGIC])


def _base_offset(finding: Finding, facts: Mapping[str, int]) -> tuple[int, bytes]:
    if not facts.get("proven"):
        raise BeyondRepair("the batches around it do not prove the right offset; compare the replicas")
    return _position(finding), facts["expected"].to_bytes(8, "big")


def _epoch(finding: Finding, facts: Mapping[str, int]) -> tuple[int, bytes]:
    if "right_epoch" not in facts:
        raise BeyondRepair("the batches around it do not tell the right epoch; compare the replicas")
    return _position(finding), facts["right_epoch"].to_bytes(4, "big", signed=True)


_FIELDS: Final[dict[str, Callable[[Finding, Mapping[str, int]], tuple[int, bytes]]]] = {
    "L08": _size, "L09": _size, "L10": _size, "L11": _magic, "L12": _magic,
    "L13": _base_offset, "L14": _base_offset, "L15": _base_offset, "L17": _epoch,
}  # fmt: skip
