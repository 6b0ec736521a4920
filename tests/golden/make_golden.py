"""Make golden directories anew: `python -m tests.golden.make_golden [RELEASE...]` from the repository's root.

Needs a JDK, the network once for the jars, and a few minutes a release.
"""

import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.golden import old_story, story

STORIES = {
    "0.8.2.2": old_story.tell,
    "0.10.2.2": story.tell,
    "1.1.0": story.tell,
    "2.8.2": story.tell,
    "3.9.2": story.tell,
    "4.3.1": story.tell,
}


def main(wanted: list[str]) -> None:
    """Make the wanted ones, or all."""
    for name in wanted or STORIES:
        started = time.monotonic()
        work = Path(tempfile.mkdtemp(prefix=f"golden-{name}-"))
        print(f"{name}: in {work}", file=sys.stderr)
        STORIES[name](name, work)
        shutil.rmtree(work)
        print(f"{name}: made in {time.monotonic() - started:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
