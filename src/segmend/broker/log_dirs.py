"""What brokers ask of the list of `log.dirs` itself, before they look into any of them.

Follows `ConfigDef.ValidList`, `CoreUtils.parseCsvList`, `MetaPropertiesEnsemble.verify` and
`LogManager.createAndValidateLogDirs`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from segmend.broker.checkpoints import MARKER_GOES_FIRST
from segmend.broker.identity import DIRECTORY_IDS, DUPLICATE_ID
from segmend.broker.old_identity import DELETES_HALF
from segmend.broker.rule import new_in
from segmend.formats import clean_shutdown, meta_properties
from segmend.logdir.log_dir import LOCK, LOG_DIR_FILES
from segmend.logdir.release import Release

STRICT_LIST: Final = new_in(
    "ConfigDef.ValidList refuses an empty entry and takes one that is there twice once; KIP-1161, 4.2", (4, 2)
)
EMPTY_ENTRY = "Configuration 'log.dirs' values must not be empty."
TWICE = "Duplicate log directory found: {}"
HALF: Final = f"{meta_properties.FILE_NAME}.tmp"


Place = tuple[str, str, str | None]
"""A dir as it is written, its path with all links resolved, and its directory id."""


def list_refusal(
    entries: Sequence[str], places: Sequence[Place], home: Place | None, release: Release
) -> str | None:
    """Why the process ends over the list; None if it does not.

    `entries` is the list as it is written, `places` are its dirs, `home` is metadata.log.dir, which may be
    one of them, but only as it is written there.
    """
    strict = STRICT_LIST.of(release)
    if strict and "" in entries:
        return EMPTY_ENTRY
    if strict:
        places = list(dict.fromkeys(places))
    seen: dict[str, str] = {}
    for place in [*places, *([] if home is None else [home])]:
        path, real, identity = place
        if real in seen and identity is not None and path != seen[real] and DIRECTORY_IDS.of(release):
            return DUPLICATE_ID.format(identity, seen[real], path)
        if real in seen and place is not home:
            return TWICE.format(", ".join(each for each, _, _ in places))
        seen[real] = path
    return None


def is_minded(name: str, *, apart: bool) -> bool:
    """Whether a directory of that name, which is no partition, is in the way of a start.

    `apart`: the dir is none of `log.dirs`, so that no `LogManager` looks for logs in it.
    """
    return not apart or name in (LOCK, *LOG_DIR_FILES)


def goes_first(release: Release) -> frozenset[str]:
    """The names that a start deletes before it looks for logs, be it an empty directory that has them."""
    marker = {clean_shutdown.FILE_NAME} if MARKER_GOES_FIRST.of(release) else set()
    return frozenset(marker | ({HALF} if DELETES_HALF.of(release) else set()))
