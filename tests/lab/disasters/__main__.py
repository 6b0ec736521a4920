"""`python -m tests.lab.disasters 4.3.1 --seed 7 --count 50`: draw, start the real broker, compare, shrink.

With `--of 3.9.2` the release starts on disasters of another one, as after an upgrade or a downgrade.
What was tried goes to `records/<release>.jsonl.xz`, and is not tried again; a few digits beside it tell of
which files it was, so that nobody holds a verdict against others that a changed wound leaves today. With
`--do WOUND...` one disaster, which is not recorded; with `--matrix` nothing is started: the records against
today's forecast.
"""

import argparse
import itertools
import json
import os
import shutil
import signal
import sys
from collections.abc import Iterable

from tests.lab.disasters.bases import RELEASES, STAGES
from tests.lab.disasters.compare import wrong
from tests.lab.disasters.draw import FIRST_SEED, Disaster, drawn, of_another
from tests.lab.disasters.judge import make_shared_classes
from tests.lab.disasters.known import reason
from tests.lab.disasters.matrix import matrix
from tests.lab.disasters.owners import USER
from tests.lab.disasters.run import (
    Row,
    hurt_copy,
    judged_and_compared,
    packed,
    record,
    rows_of,
    scratch,
    shrunk,
)
from tests.lab.errors import LabError


def main() -> int:
    """Do what was asked; 1 if a forecast disagreed."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab.disasters", description=__doc__)
    parser.add_argument("version", nargs="?", choices=RELEASES)
    parser.add_argument("--seed", type=int, default=FIRST_SEED)
    parser.add_argument("--count", type=int, default=50, help="the first so many of the draw")
    parser.add_argument("--from", type=int, default=0, dest="first", help="and these not before that number")
    parser.add_argument("--as-user", type=int, help="the user whom the broker of --do runs as, by his number")
    parser.add_argument("--kind", help="of the draw only the disasters of that kind")
    parser.add_argument("--matrix", action="store_true", help="trials by release and kind, with agreements")
    parser.add_argument("--stage", choices=STAGES, default="clean")
    parser.add_argument("--of", choices=RELEASES, help="the release that wrote the dirs, of a draw too")
    parser.add_argument("--do", nargs="*", metavar="WOUND", help="these wounds instead of a draw")
    parser.add_argument("--shrink", action="store_true", help="drop wounds while the forecast disagrees")
    args = parser.parse_args()
    if args.matrix or args.version is None:
        print(matrix())
        return 0
    root = scratch("disaster")
    try:
        for uid in {None, *([] if os.geteuid() else [args.as_user or USER])}:
            healthy = Disaster(args.version, args.version, "clean", (), uid=uid)
            make_shared_classes(args.version, hurt_copy(healthy, root), uid)
        if args.do is not None:
            wounds = tuple(args.do)
            return one(
                Disaster(args.version, args.of or args.version, args.stage, wounds, uid=args.as_user),
                shrink=args.shrink,
            )
        found = of_another(args.version, args.of, args.seed) if args.of else drawn(args.version, args.seed)
        numbered = itertools.islice(found, args.first, args.count)
        wanted = (each for each in numbered if args.kind in (None, each.kind))
        return many(args.version, wanted, shrink=args.shrink)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def one(disaster: Disaster, *, shrink: bool) -> int:
    """One disaster, told in full."""
    root = scratch("disaster")
    row, points = judged_and_compared(disaster, root)
    print(json.dumps(row["verdict"], indent=1)[:20_000])
    return told(disaster, points, shrink=shrink)


def told(disaster: Disaster, points: list[str], *, shrink: bool) -> int:
    """Say whether the forecast agreed, and how to see it again."""
    for words in points:
        print(f"  {words}")
    if points:
        least = shrunk(disaster, scratch("disaster")) if shrink else disaster
        print(f"  {least.command()}", flush=True)
    return 1 if wrong(points) else 0


def many(version: str, disasters: Iterable[Disaster], *, shrink: bool) -> int:
    """Those that were not tried yet; each is kept as soon as it was."""
    root, path, bad = scratch("disaster"), record(version), 0
    rows: list[Row] = rows_of(path)
    done = {row["n"] for row in rows}
    for disaster in disasters:
        if disaster.number in done:
            continue
        try:
            row, points = judged_and_compared(disaster, root)
        except LabError as error:  # nothing to learn from, and the next ones wait
            print(f"{version} {disaster.number} {disaster.kind}: not tried, {error}", flush=True)
            continue
        rows.append(row)
        packed(rows, path)
        print(f"{version} {disaster.number} {disaster.kind}: {row['verdict']['outcome']}", flush=True)
        bad += told(disaster, [] if reason(disaster) else wrong(points), shrink=shrink)
    print(f"{version}: {len(rows)} recorded, {bad} forecasts differ")
    return 1 if bad else 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the broker ends with it
    sys.exit(main())
