"""PySpark's worker daemon, without the traceback that it writes when Spark has seen enough.

A LIMIT, or the end of the session, closes a worker's pipe while it still writes. After each task PySpark
collects garbage: in all that pyarrow, pandas and segmend are made of that takes longer than to read
some thousand records, and nothing of it ever is garbage. Spark runs this module by its name
(`spark.python.daemon.module`).
"""

from __future__ import annotations

import gc
import socket

from pyspark import daemon

_worker = daemon.worker


def worker(sock: socket.socket, authenticated: bool) -> int:
    """PySpark's own; a pipe closed by the JVM ends it quietly. What the first task imported is left alone."""
    try:
        code = int(_worker(sock, authenticated))
    except ConnectionError:
        return 1
    if not gc.get_freeze_count():
        gc.collect()
        gc.freeze()
    return code


if __name__ == "__main__":
    daemon.worker = worker
    daemon.manager()
