"""`python -m segmend`."""

from __future__ import annotations

from segmend.cli.main import entry

entry()
