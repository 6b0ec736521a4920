"""PySpark's worker daemon, without the traceback that it writes when Spark has seen enough.

A LIMIT, or the end of the session, closes a worker's pipe while it still writes. Spark runs
this module by its name (`spark.python.daemon.module`).
"""

from __future__ import annotations

import socket

from pyspark import daemon

_worker = daemon.worker


def worker(sock: socket.socket, authenticated: bool) -> int:
    """PySpark's own; a pipe closed by the JVM ends it quietly."""
    try:
        return int(_worker(sock, authenticated))
    except ConnectionError:
        return 1


if __name__ == "__main__":
    daemon.worker = worker
    daemon.manager()
