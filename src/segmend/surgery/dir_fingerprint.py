"""For which log dirs, in which state, a plan was made: a broker's start afterwards shows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, Self

from segmend.formats import clean_shutdown, meta_properties, offset_checkpoint
from segmend.frozen import frozen
from segmend.json_values import JsonObject, member, text
from segmend.logdir import disk
from segmend.surgery.fingerprint import Fingerprint, changed, look

FILES: Final = (meta_properties.FILE_NAME, clean_shutdown.FILE_NAME, *offset_checkpoint.FILE_NAMES)
"""What a broker writes anew, or removes, in every log dir that it opens."""


@frozen
class DirFingerprint:
    """One log dir: `given` as the user wrote it, `path` real, and its top-level files."""

    given: str
    path: str
    files: Mapping[str, Fingerprint]

    @classmethod
    def of(cls, given: str) -> Self:
        """The dir as it is now; raises `Unreadable`."""
        path = disk.real_path(given)
        return cls(given=given, path=path, files={name: look(f"{path}/{name}") for name in FILES})

    def to_json(self) -> dict[str, object]:
        files = {name: fingerprint.to_json() for name, fingerprint in self.files.items()}
        return {"dir": self.given, "path": self.path, "files": files}

    @classmethod
    def from_json(cls, data: JsonObject) -> Self:
        """The reverse; `KeyError`, `TypeError`, `ValueError` for what is none."""
        told = member(data, "files")
        files = {name: Fingerprint.from_json(member(told, name)) for name in FILES}
        return cls(given=text(data, "dir"), path=text(data, "path"), files=files)

    def difference(self, own: Collection[str] = ()) -> str | None:
        """Why the dir is not the one of the plan any more, or not in that state; None if it is.

        `own` are paths that the plan itself changes.
        """
        if disk.path_type(self.path) != "dir":
            return f"{self.path}: no such directory; the plan was made for it"
        for name, expected in self.files.items():
            if f"{self.path}/{name}" in own:
                continue
            why = changed(expected, f"{self.path}/{name}")
            if why is not None and name == meta_properties.FILE_NAME:
                return f"{self.path}/{name}: {why}; the plan was made for another log dir"
            if why is not None:
                return (
                    f"{self.path}/{name}: {why}; the plan is older than what a broker, or somebody, did here"
                )
        return None
