"""Paths of a disk that Delta's library takes for others: it reads them as URLs once they are real paths."""

from __future__ import annotations

import os
import re
from typing import Final

from segmend.errors import UsageError

_OF_LOCAL_URLS: Final = re.compile(r"%[0-9A-Fa-f]{2}|\\")


def refuse_misread(out: str) -> None:
    """UsageError where a table in this directory would be looked for in another: `a%20b` is `a b` there.

    By way of a link, or of where we stand, too.
    """
    path = os.path.realpath(out)
    if (misread := _OF_LOCAL_URLS.search(path)) is not None:
        where = "the path" if misread[0] in out else path
        raise UsageError(f"{out}: Delta's library reads no table where {misread[0]} is in {where}")
