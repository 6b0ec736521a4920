"""What a client of Spark Connect sees, as JSON; in a process without any Spark of its own.

python -m tests.spark.connect_client URL FLEET OUT
"""

import json
import sys

from segmend.cli.main import main as segmend
from segmend.spark.scan import scan
from segmend.spark.session import session
from segmend.spark.summarize import summarize


def main(url: str, fleet: str, out: str) -> None:
    spark = session(url)
    source = spark.read.format("kafka-log")
    segments = source.option("table", "segments").load(fleet)
    some = segments.where("broker = 2 and topic = 'orders' and segment >= 60")
    found = {
        "session": type(spark).__module__,
        "records": source.option("table", "records").load(fleet).count(),
        "scan": scan(spark, some, fleet, columns=["offset"]).count(),
        "summary": [row.asDict() for row in summarize(spark, fleet, by=[]).select("records").collect()],
        "exit": segmend(["fleet", "audit", fleet, "--out", out, "--master", url, "--no-report"]),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
