"""A table whose last commit is torn, as a power cut leaves it: the commit is set aside.

Nothing that was told is forgotten: where a finished run has files that no other commit names, the table
stays as it is, and nothing is added to it.
"""

from __future__ import annotations

import logging
import os
import uuid
from typing import Final

from segmend.errors import SegmendError
from segmend.fleet import delta, folder
from segmend.fleet.commits import torn_commit
from segmend.fleet.schemas import STORED

LOG: Final = logging.getLogger(__name__)


def heal(out: str) -> None:
    """Set torn commits of the tables in `out` aside, as the log says; SegmendError where one may not be."""
    # Which runs have finished is told by `runs`.
    for name in sorted(STORED, key="runs".__ne__):
        torn = torn_commit(os.path.join(out, name))
        if torn is not None:
            _set_aside(out, name, *torn)


def _set_aside(out: str, name: str, commit: str, content: bytes) -> None:
    aside = f"{commit.removesuffix('.json')}.torn-{uuid.uuid4().hex[:6]}"
    folder.save_bytes(aside, content)
    folder.remove(commit)
    # A run that `runs` has did finish, in whatever file its row is by now.
    lost = sorted(_loose_runs(out, name) & set(delta.runs(out))) if name != delta.RUNS else []
    if lost:
        folder.save_bytes(commit, content)
        folder.remove(aside)
        raise SegmendError(
            f"{commit}: torn, and with it what the finished run {lost[-1]} told in {name}; give another --out"
        )
    LOG.warning("%s: torn, of a run that did not finish; set aside as %s", commit, os.path.basename(aside))


def _loose_runs(out: str, name: str) -> set[str]:
    """The runs of files in the table's directory that no commit names."""
    table = delta.opened(out, name)
    named = set() if table is None else set(delta.files(table))
    loose = (each for each in folder.names(os.path.join(out, name)) if each not in named)
    return {run for run in map(delta.run_of, loose) if run is not None}
