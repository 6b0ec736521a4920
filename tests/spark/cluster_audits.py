"""One session of a cluster audits a fleet into one OUT after the other; before each it reads a line.

python -m tests.spark.cluster_audits MASTER CACHE FLEET OUT...
"""

import sys
from pathlib import Path

from segmend.fleet.audit import AuditRequest, audit
from segmend.spark.driver import SparkDriver
from segmend.spark.session import session


def main(master: str, cache: str, fleet: str, *outs: str) -> None:
    spark = session(master, cache=Path(cache))
    for out in outs:
        print(f"next {out}", flush=True)
        sys.stdin.readline()
        audit(AuditRequest(paths=(fleet,), out=out), SparkDriver(spark))
    print("done", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
