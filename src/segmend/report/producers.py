"""Who wrote what replicas do not agree about."""

from __future__ import annotations

from collections.abc import Sequence

from segmend.merge.values import PRODUCERS


def written_by(producers: Sequence[int]) -> str:
    """Who wrote what diverged, behind a count of records; nothing where no batch names a producer."""
    if not producers:
        return ""
    more = " and maybe more" if len(producers) >= PRODUCERS else ""
    return f", written by producers {', '.join(map(str, producers))}{more}"
