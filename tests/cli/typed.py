"""Commands as they are printed, read by a shell as one does who pastes them."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator

_BEGINS = re.compile(r"(?:[`(]|: |; )(?=segmend [a-z])")
_ENDS = re.compile(r"`|\)(?=[;,. \n]|$)|; |\n|$")


def words_of(command: str) -> list[str]:
    """What bash makes of it, with all that it expands; only `segmend` is run, which tells its words."""
    told = f'segmend() {{ printf "%s\\0" "$@"; }}; {command}'
    ran = subprocess.run(["bash", "-c", told], capture_output=True, check=True)
    return ran.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]


def commands_in(said: str) -> Iterator[list[str]]:
    """Those of segmend that stand in a sentence: each ends where a quote of the shell does not hold it."""
    for begin in _BEGINS.finditer(said):
        at = begin.end()
        for end in _ENDS.finditer(said, at):
            command = said[at : end.start()]
            try:
                shlex.split(command)
            except ValueError:  # Within quotes.
                continue
            yield words_of(command)
            break
