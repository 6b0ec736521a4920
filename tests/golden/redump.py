"""Dump the kept archives again after the dump's parser changed: `python -m tests.golden.redump [NAME...]`.

No broker is started: only `files`, `decoded` and the manifest's features are made anew.
"""

import json
import sys
import tempfile
from pathlib import Path

from tests.golden.dump import decode_internal, dump
from tests.golden.features import features
from tests.golden.store import HERE, MANIFEST, enter, read_json, shorten_time_indexes, write_json
from tests.golden.unpack import unpack
from tests.lab.releases import release


def redump(row: dict[str, object]) -> None:
    """One golden."""
    name, kafka = str(row["name"]), release(str(row["release"]))
    with tempfile.TemporaryDirectory() as place:
        scratch = Path(place)
        copied = unpack(HERE / f"{name}.tar.xz", scratch / "dump")
        shorten_time_indexes(copied)
        expected = read_json(HERE / f"{name}.expected.json.xz")
        expected["files"] = dump(kafka, copied, scratch)
        expected["decoded"] = decode_internal(kafka, copied, scratch)
        write_json(HERE / f"{name}.expected.json.xz", expected)
        enter({**row, "features": features(copied, expected["files"], expected["before_stop"])})


if __name__ == "__main__":
    for known in json.loads(MANIFEST.read_text()):
        if not sys.argv[1:] or known["name"] in sys.argv[1:]:
            redump(known)
            print(known["name"], file=sys.stderr)
