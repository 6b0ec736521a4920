"""One session of a cluster reads a hurt fleet, and audits another one into one OUT after the other.

Before each audit it reads a line. When it has ended, `segmend fleet audit` asks for more than a worker has.

python -m tests.spark.cluster_audits MASTER CACHE HURT FLEET OUT...
"""

import sys
from pathlib import Path

from tests.spark import damaged_read

from segmend.cli.main import main as segmend
from segmend.fleet.audit import AuditRequest, audit
from segmend.spark.driver import SparkDriver
from segmend.spark.session import session


def main(master: str, cache: str, hurt: str, fleet: str, *outs: str) -> None:
    spark = session(master, cache=Path(cache))
    damaged_read.read(spark, hurt)
    for out in outs:
        print(f"next {out}", flush=True)
        sys.stdin.readline()
        audit(AuditRequest(paths=(fleet,), out=out), SparkDriver(spark))
    print("done", flush=True)
    properties = spark._jvm.System
    spark.stop()
    for name, value in {"spark.executor.memory": "3g", "spark.segmend.executorWait": "2"}.items():
        properties.setProperty(name, value)
    print(segmend(["fleet", "audit", fleet, "--out", f"{outs[0]}-none", "--master", master]))


if __name__ == "__main__":
    main(*sys.argv[1:])
