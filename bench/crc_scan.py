"""`python -m bench.crc_scan DIR...`: one pass over each log, every checksum, two at a time; nothing else."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from segmend.kernel.scan import ScanTask, scan_log
from segmend.logdir.disk import FileReader


def scanned(log: Path) -> int:
    """Sound bytes of a log."""
    with FileReader(str(log)) as reader:
        return scan_log(reader, ScanTask(base_offset=int(log.stem), crc=True)).valid_bytes


if __name__ == "__main__":
    with ThreadPoolExecutor(2) as pool:
        logs = [log for folder in sys.argv[1:] for log in sorted(Path(folder).rglob("*.log"))]
        print(sum(pool.map(scanned, logs)))
