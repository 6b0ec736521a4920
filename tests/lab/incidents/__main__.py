"""Tell stories of one node with real brokers: `python -m tests.lab.incidents 4.3.1 --seed 7 --count 20`.

With `--do '4.3.1 0 start write@f001#7 kill copy@d0#1'` one that is not recorded; `--shrink` leaves out
acts while the forecast differs.
"""

import argparse
import itertools
import json
import shutil
import signal
import sys
from pathlib import Path

from tests.lab.disasters.bases import RELEASES
from tests.lab.disasters.compare import wrong
from tests.lab.disasters.draw import Disaster
from tests.lab.disasters.judge import make_shared_classes
from tests.lab.disasters.owners import USER
from tests.lab.disasters.run import fewest, hurt_copy, scratch
from tests.lab.errors import LabError
from tests.lab.incidents.draw import Incident, drawn, to_json
from tests.lab.incidents.play import keep, laid_out, played, rows_of


def main() -> int:
    """Do what was asked; 1 if a forecast disagreed."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab.incidents", description=__doc__)
    parser.add_argument("version", choices=RELEASES)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("--do", help="this one alone, which is not recorded")
    parser.add_argument("--shrink", action="store_true")
    args = parser.parse_args()
    root = scratch("incident")
    for uid in (None, USER):
        make_shared_classes(
            args.version, hurt_copy(Disaster(args.version, args.version, "clean", (), uid=uid), root), uid
        )
    home = scratch("incidents")
    try:
        if args.do:
            return one(Incident.of(args.do), root, shrink=args.shrink)
        laid_out(args.version, home)
        wanted = itertools.islice(drawn(args.version, args.seed), args.first, args.count)
        return many(args.version, list(wanted), root, home, shrink=args.shrink)
    finally:
        for path in (root, home):
            shutil.rmtree(path, ignore_errors=True)


def one(incident: Incident, root: Path, *, shrink: bool) -> int:
    """One incident, told in full."""
    _, row, points = played(incident, root)
    print(json.dumps(row, indent=1)[:20_000])
    return told(incident, points, root, shrink=shrink)


def told(incident: Incident, points: list[str], root: Path, *, shrink: bool) -> int:
    """Say whether the forecast agreed, and how to see it again."""
    print(*(f"  {each}" for each in points), sep="\n", flush=True)
    if wrong(points):
        print(f"  {(shrunk(incident, root) if shrink else incident).words}", flush=True)
    return 1 if wrong(points) else 0


def shrunk(incident: Incident, root: Path) -> Incident:
    """One of as few acts as leaving them out one by one comes to."""
    return fewest(incident, lambda each: each.acts, lambda each: wrong(played(each, root)[2]))


def many(version: str, incidents: list[Incident], root: Path, home: Path, *, shrink: bool) -> int:
    """Those that were not tried yet; each is kept as soon as it was."""
    rows, bad = rows_of(version), 0
    done = {row["incident"] for row in rows}
    for incident in (each for each in incidents if each.words not in done):
        try:
            _, row, points = played(incident, root)
        except LabError as error:
            print(f"{incident.words}: not tried, {error}", flush=True)
            continue
        number = len(rows)
        home.mkdir(exist_ok=True)
        root.rename(home / str(number))
        rows.append(to_json(incident, n=number, **row))
        keep(version, rows, home)
        print(f"{incident.words}: {row['verdict']['outcome']}", row["left_out"], flush=True)
        bad += told(incident, points, root, shrink=shrink)
    print(f"{version}: {len(rows)} recorded, {bad} forecasts differ")
    return 1 if bad else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the broker ends with it
    sys.exit(main())
