"""Hurt disks, ask the forecast, start nodes, compare: `python -m tests.lab.outages BASE --seed 7 --count 20`.

With `--do '1,2/3 wiped@1:full-0#7'` one outage that is not recorded.
"""

import argparse
import itertools
import json
import signal
import sys
import tempfile
from pathlib import Path

from tests.lab.cluster import share_classes
from tests.lab.disasters.compare import wrong
from tests.lab.errors import LabError
from tests.lab.outages.base import started_by
from tests.lab.outages.compare import complaints
from tests.lab.outages.draw import Outage, drawn
from tests.lab.outages.trial import HERE, tried


def main() -> int:
    """Do what was asked; 1 if a forecast disagreed."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab.outages", description=__doc__)
    parser.add_argument("base")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--busy", action="store_true", help="many wounds, at replicas alone")
    parser.add_argument("--do")
    parser.add_argument("--logs", type=Path, help="a directory for the nodes' logs")
    args = parser.parse_args()
    wanted = itertools.islice(drawn(args.seed, args.base, busy=args.busy), args.first, args.count)
    bad, path = 0, HERE / f"{args.base}.jsonl"
    known = {json.loads(row)["outage"] for row in path.read_text().splitlines()} if path.exists() else set()
    share_classes(started_by(*args.base.split("-", 1)))
    for outage in [Outage.of(f"{args.base} {args.do}")] if args.do else wanted:
        if outage.words in known and not args.do:
            continue
        try:
            with tempfile.TemporaryDirectory(prefix="outage-") as work:
                said, became = tried(outage, Path(work), args.logs)
        except LabError as error:
            print(f"{outage.words}: not tried, {error}", flush=True)
            continue
        points = complaints(said, became)
        print(outage.words, became["nodes"], *points, sep="\n   ", flush=True)
        if args.do:
            print(json.dumps(said), json.dumps(became), sep="\n")
        else:
            HERE.mkdir(exist_ok=True)
            with path.open("a") as stream:
                row = json.dumps({"outage": outage.words, **became}, separators=(",", ":"), sort_keys=True)
                stream.write(f"{row}\n")
        bad += bool(wrong(points))
    print(f"{args.base}: {bad} forecasts differ")
    return 1 if bad else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the nodes end with it
    sys.exit(main())
