"""Whatever bytes stand in the files of a log dir, a check never raises and always ends."""

import random
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from tests.brokers import broker_of
from tests.checks import build_partition as build
from tests.conftest import examples
from tests.memory import swift

from segmend.checks import CheckRun, Level

RELEASES = ["0.8.2", "0.10.2", "1.1.0", "2.2", "2.8.2", "3.6", "4.3"]
INTERESTING = [
    b"\0" * 8,
    b"\xff" * 8,
    b"\x7f" + b"\xff" * 7,
    b"\x80" + b"\0" * 7,
    b"\0\0\0\1",
    b"\xff\xff\xff\xff",
]


def mutate(path: Path, rng: random.Random) -> None:
    """One change to one file: bits, a run of bytes, its length, or its name."""
    data = bytearray(path.read_bytes()[:20_000].rstrip(b"\0") or b"\0" * 30)
    at = rng.randrange(len(data))
    what = rng.randrange(7)
    if what == 0:
        data[at] ^= 1 << rng.randrange(8)
    elif what == 1:
        piece = rng.choice(INTERESTING)
        data[at : at + len(piece)] = piece
    elif what == 2:
        del data[at:]
    elif what == 3:
        del data[at : at + rng.randrange(1, 200)]
    elif what == 4:
        data[at:at] = rng.randbytes(rng.randrange(1, 300))
    elif what == 5:
        data[at : at + rng.randrange(1, 2000)] = bytes(rng.randrange(1, 2000))
    else:
        path.rename(path.with_name(f"{rng.randrange(300):020d}{path.suffix}"))
        return
    path.write_bytes(data)


@examples(40)
@given(
    seed=st.integers(0, 2**32),
    clean=st.booleans(),
    release=st.sampled_from(RELEASES),
    level=st.sampled_from(Level),
    changes=st.integers(1, 12),
)
def test_any_bytes(seed: int, clean: bool, release: str, level: Level, changes: int) -> None:
    rng = random.Random(seed)
    with swift() as folder:
        path = build.write_log_dir(folder / "d", [build.story("t", rounds=2)], clean=clean)
        files = [file for file in path.rglob("*") if file.is_file()]
        weights = [
            8 if file.suffix in (".log", ".snapshot") else 4 if "index" in file.suffix else 1
            for file in files
        ]
        for file in rng.choices(files, weights, k=changes):
            if file.exists():
                mutate(file, rng)
        for finding in CheckRun(broker_of([path], release), level=level):
            assert finding.message
            assert finding.to_json()
