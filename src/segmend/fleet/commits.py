"""The last commit of a Delta table, and whether all of it is there.

The library takes an empty commit, or one that lost whole lines, for one that changed nothing.
"""

from __future__ import annotations

import json
import os
import re
from typing import Final

from segmend.fleet import folder

_COMMIT: Final = re.compile(r"\d{20}\.json")


def torn_commit(home: str) -> tuple[str, bytes] | None:
    """Path and content of the last commit of the table in `home`, if it is torn."""
    log = os.path.join(home, "_delta_log")
    name = max(filter(_COMMIT.fullmatch, folder.names(log)), default=None)
    if name is None:
        return None
    last = os.path.join(log, name)
    content = folder.content(last)
    return None if _is_whole(content) else (last, content)


def _is_whole(content: bytes) -> bool:
    """Whether a commit has all its lines, as far as they tell: an audit's own ends with its transaction."""
    try:
        actions = [json.loads(line) for line in content.splitlines()]
    except ValueError:
        return False
    if not actions or not all(isinstance(each, dict) for each in actions):
        return False
    ours = any("phase" in (each.get("commitInfo") or ()) for each in actions)
    return not ours or any("txn" in each for each in actions)
