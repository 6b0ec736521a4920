"""As whom the new files of a replica come: with owner and mode of its broker's other ones."""

from __future__ import annotations

from segmend.logdir.log_dir import LogDir
from segmend.logdir.partition_dir import PartitionDir
from segmend.surgery.fingerprint import Fingerprint, look


def model_of(log_dir: LogDir, target: PartitionDir | None) -> Fingerprint:
    """Owner and mode that a new file is to have: those of a log of this replica, or of another one."""
    others = [] if target is None else [target]
    others += log_dir.current
    for partition in others:
        for name in partition.layout.logs.values():
            log = look(f"{partition.path}/{name}", content=False)
            return Fingerprint(kind="file", mode=log.mode, uid=log.uid, gid=log.gid)
    home = look(log_dir.path, content=False)
    return Fingerprint(kind="file", mode=0o644, uid=home.uid, gid=home.gid)
