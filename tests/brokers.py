"""Log dirs of a test as those of one broker."""

from collections.abc import Iterable
from pathlib import Path

from segmend.logdir.config import ServerConfig
from segmend.logdir.log_dir import LogDir
from segmend.logdir.release import Release
from segmend.node.broker_dirs import BrokerDirs


def broker_of(
    paths: Iterable[Path | str | LogDir], release: str | None = None, config: ServerConfig | None = None
) -> BrokerDirs:
    """All of them; the release is read off them if none is given."""
    dirs = [path if isinstance(path, LogDir) else LogDir.open(str(path)) for path in paths]
    return BrokerDirs(dirs, release=None if release is None else Release.parse(release), given=config)
