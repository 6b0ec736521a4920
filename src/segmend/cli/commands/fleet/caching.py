"""What is made once on a machine, for the next command: Spark's class archive, compiled templates."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path | None:
    """Where it is kept; None when there is no such place."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(home) / "segmend"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None
