"""`python -m tests.lab.acknowledged 4.3.1 --seed 1 --count 200 [--overlap]`: many damages on one base."""

import argparse
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.lab.acknowledged.hurt import KINDS
from tests.lab.acknowledged.judge import faults_of_base, live, opened, play


def main(words: list[str]) -> int:
    """Play the seeds; 1 if a rescue was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab.acknowledged", description=__doc__)
    parser.add_argument("version")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--overlap", action="store_true", help="damage may meet on all replicas")
    parser.add_argument("--wounds", type=int, default=0, help="so many (default: drawn)")
    parser.add_argument("--only", choices=sorted(KINDS), default="", help="wounds of this kind")
    parser.add_argument("--base", type=Path, help="another base than the one in the repository")
    parser.add_argument("--as", dest="form", default="jsonl")
    parser.add_argument("--to", metavar="RELEASE", help="--as kafka, to a live broker of this release")
    parser.add_argument("--serve", action="store_true", help="as a log dir that the release's broker serves")
    args = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="acknowledged-") as scratch, ExitStack() as stack:
        bootstrap = stack.enter_context(live(args.to, Path(scratch, "live"))) if args.to else ""
        world = opened(args.version, Path(scratch), args.base)
        wrong, invented = faults_of_base(world), 0
        bad = 0
        for seed in range(args.seed, args.seed + args.count):
            trial = play(
                world, seed, overlap=args.overlap, form=args.form, wounds=args.wounds, only=args.only,
                bootstrap=bootstrap, serve=args.version if args.serve else "",
            )  # fmt: skip
            invented += trial.invented
            if trial.faults:
                bad += 1
                print(
                    f"seed {seed}:",
                    *trial.faults,
                    *(f"   {each}" for each in trial.wounds),
                    sep="\n  ",
                    flush=True,
                )
    told = sum(map(len, world.acknowledged.values()))
    print(
        *wrong,
        f"{told} records acknowledged; {args.count} seeds, {bad} wrong; {invented} offsets said to be "
        "missing of the compacted log that held nothing",
        sep="\n",
    )
    return min(len(wrong) + bad, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
