"""A broker that has its metadata in a dir apart: `python -m tests.lab.apart.record 4.3.1`."""

import sys
import tempfile
from pathlib import Path

from tests.golden.pack import pack
from tests.lab.base import QUIET
from tests.lab.broker import Broker, Seat
from tests.lab.releases import release
from tests.lab.upgrade import write

HERE = Path(__file__).parent
DIRS = ("b1/d0", "b1/d1", "b1/meta")


def main(version: str) -> None:
    """One healthy node after a clean stop."""
    with tempfile.TemporaryDirectory() as work:
        root = Path(work)
        apart = {"metadata.log.dir": str(root / "b1" / "meta")}
        with Broker(release(version), root / "b1", Seat(1), settings={**QUIET, **apart}) as broker:
            broker.start()
            write(broker.bootstrap, {})
            broker.stop()
        pack(root, list(DIRS), HERE / f"{version}.tar.xz")


if __name__ == "__main__":
    main(*sys.argv[1:])
