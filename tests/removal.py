"""What tests take away or take back, whatever the modes: a normal user is not let past those of his own."""

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


def remove(root: Path) -> None:
    """All of it."""
    if os.geteuid() != 0:
        for path in (root, *root.rglob("*")):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o700)
    shutil.rmtree(root)


@contextmanager
def writable(folders: Iterable[str]) -> Iterator[None]:
    """While it lasts their owner may change what is in them."""
    modes = {folder: os.stat(folder).st_mode & 0o7777 for folder in folders}
    for folder, mode in modes.items():
        os.chmod(folder, mode | 0o700)
    yield
    for folder, mode in modes.items():
        if os.path.isdir(folder):
            os.chmod(folder, mode)
