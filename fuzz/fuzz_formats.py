"""Whatever bytes a parser gets, it answers: no exception, no hang, no memory beyond a bound.

    python fuzz/fuzz_formats.py --seconds 600 --seed 1

Mutates what real brokers wrote (tests/golden) and what `segmend.formats.build` writes. A
failing input is saved as `fuzz-<target>.bin` in the directory given by `--save`.
"""

from __future__ import annotations

import argparse
import faulthandler
import random
import resource
import sys
import tarfile
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from segmend.formats import (
    batch,
    build,
    clean_shutdown,
    codec,
    codec_write,
    control,
    epoch_checkpoint,
    java_properties,
    meta_properties,
    names,
    offset_checkpoint,
    offset_index,
    partition_metadata,
    producer_snapshot,
    quorum_state,
    record,
    time_index,
    txn_index,
)

GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "golden"
MAX_INPUT = 64 << 10
LIMIT = 4 << 20
MAX_SECONDS = 2.0
MAX_GROWTH = 200 << 20
INTERESTING = [
    *(number.to_bytes(4, "big", signed=True) for number in (0, -1, 1, 13, 14, 49, 2**31 - 1, -(2**31))),
    *(number.to_bytes(8, "big", signed=True) for number in (0, -1, 2**63 - 1, -(2**63))),
    b"\xff" * 10, b"\x80" * 6, b"\x00" * 20, b"2147483647", b"-1", b"99999999999999999999", b"\n", b" ",
]  # fmt: skip

Target = Callable[[bytes], object]


def walk_log(data: bytes) -> None:
    """Every batch whose length can be followed, every record, every control record."""
    at = 0
    while at < len(data):
        header, _ = batch.parse(data[at:], at)
        if header is None:
            return
        damages: list[batch.Damage] = []
        for each in record.iter_records(data[at:], header, damages, limit=LIMIT):
            assert isinstance(each.offset, int)
            if header.is_control:
                control.parse(each.key, each.value)
        assert len(damages) <= 20, damages
        at += header.size


def round_trip(module: object) -> Target:
    """Parse; what is rendered from the value can be parsed again."""

    def run(data: bytes) -> None:
        value, damages = module.parse(data)  # type: ignore[attr-defined]
        for damage in damages:
            assert 0 <= damage.position <= len(data), damage
        assert len(damages) <= 20, len(damages)
        if value is not None and not damages:
            module.parse(module.render(value))  # type: ignore[attr-defined]

    return run


def unpack(number: int, magic: int = 2) -> Target:
    """Decompress; the only exception is `CodecError`, the output within the bound."""

    def run(data: bytes) -> None:
        try:
            out = codec.decompress(number, data, limit=LIMIT, magic=magic)
        except codec.CodecError as error:
            out = error.partial
        assert len(out) <= LIMIT + (4 << 20)

    return run


def read_name(data: bytes) -> None:
    """Both kinds of name."""
    text = data[:300].decode("utf-8", "surrogateescape")
    names.parse_dir_name(text)
    names.parse_file_name(text)


TARGETS: dict[str, Target] = {
    "log": walk_log,
    "index": round_trip(offset_index),
    "timeindex": round_trip(time_index),
    "txnindex": round_trip(txn_index),
    "snapshot": round_trip(producer_snapshot),
    "offset-checkpoint": round_trip(offset_checkpoint),
    "leader-epoch-checkpoint": round_trip(epoch_checkpoint),
    "partition.metadata": round_trip(partition_metadata),
    "meta.properties": round_trip(meta_properties),
    "properties": round_trip(java_properties),
    "clean-shutdown": round_trip(clean_shutdown),
    "quorum-state": round_trip(quorum_state),
    "gzip": unpack(codec.GZIP),
    "snappy": unpack(codec.SNAPPY),
    "lz4": unpack(codec.LZ4),
    "lz4-v0": unpack(codec.LZ4, magic=0),
    "zstd": unpack(codec.ZSTD),
    "control": lambda data: control.parse(data[:4], data[4:]),
    "name": read_name,
}
SUFFIXES = {".log": "log", ".checkpoint": "log", ".index": "index", ".timeindex": "timeindex"} | {
    ".txnindex": "txnindex", ".snapshot": "snapshot", ".kafka_cleanshutdown": "clean-shutdown",
}  # fmt: skip


def target_of(name: str) -> str | None:
    """The parser for a golden file."""
    if name.endswith("-offset-checkpoint"):
        return "offset-checkpoint"
    return name if name in TARGETS else SUFFIXES.get(Path(name).suffix or name)


def golden_seeds(rng: random.Random) -> Iterator[tuple[str, bytes]]:
    """(target, bytes) of a share of the files in every golden archive, and their names."""
    for archive in sorted(GOLDEN.glob("*.tar.xz")):
        with tarfile.open(archive) as tar:
            for member in tar:
                name = Path(member.name).name
                target = target_of(name)
                if target is None or not member.isfile() or rng.random() > 0.3:
                    continue
                stream = tar.extractfile(member)
                assert stream is not None
                yield "name", name.encode()
                yield target, stream.read(MAX_INPUT)


def built_seeds() -> Iterator[tuple[str, bytes]]:
    """Batches of every magic and codec, payloads of every codec, control records."""
    rows = [build.NewRecord(b"value-%d" % i * 9, b"key", 1000 + i, (("h", None),)) for i in range(60)]
    for magic in (0, 1, 2):
        for number in range(5 if magic == 2 else 4):
            yield "log", build.build_batch(rows, magic=magic, codec=number, base_offset=100)
    marker = build.NewRecord(key=b"\0\0\0\1", value=bytes(6))
    yield "log", build.build_batch([marker], is_control=True, producer=build.BatchProducer(1, 0, -1, True))
    payload = b"".join(row.value or b"" for row in rows) * 40
    for name, number in (("gzip", 1), ("snappy", 2), ("lz4", 3), ("zstd", 4)):
        yield name, codec_write.compress(number, payload)
        yield name, codec_write.compress(number, bytes(8 << 20))
    yield "lz4-v0", codec_write.compress(3, payload, magic=0)
    for kind in range(8):
        yield "control", bytes((0, 0, 0, kind)) + bytes(range(60))
    for name in (
        "t-0",
        "a.b-1.0123-delete",
        "x-2.ab-future",
        "00000000000000000000-0000000001.checkpoint.part",
    ):
        yield "name", name.encode()
    yield "clean-shutdown", b'{"version":0,"brokerEpoch":12}'
    yield "properties", b"# c\na = b\\\n  c\\u0041\nx:y\n"
    yield "quorum-state", b'{"leaderId":1,"leaderEpoch":2,"votedId":-1,"data_version":1}'


def mutate(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """One to five changes: bits, bytes, numbers at the edge, cuts, repeats, splices."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 3, 5))):
        at = rng.randrange(len(out) + 1)
        size = rng.choice((1, 4, 16, 200))
        match rng.randrange(8):
            case 0 if out:
                out[at % len(out)] ^= 1 << rng.randrange(8)
            case 1:
                out[at : at + 1] = bytes((rng.randrange(256),))
            case 2:
                edge = rng.choice(INTERESTING)
                out[at : at + len(edge)] = edge
            case 3:
                out[at:at] = rng.randbytes(size)
            case 4:
                del out[at : at + size]
            case 5:
                out[at:at] = out[at : at + size] * rng.choice((1, 2, 50))
            case 6:
                del out[at:]
            case _:
                other = rng.choice(others)
                start = rng.randrange(len(other) + 1)
                out[at:] = other[start:]
    return bytes(out[:MAX_INPUT])


def fuzz(seconds: float, seed: int, save: Path) -> int:
    """Run until the time is over; the exit status."""
    rng = random.Random(seed)
    corpus: dict[str, list[bytes]] = defaultdict(list)
    for name, data in (*golden_seeds(rng), *built_seeds()):
        corpus[name].append(data)
    missing = sorted(set(TARGETS) - set(corpus))
    assert not missing, f"no seeds for {missing}"
    for name, seeds in corpus.items():
        for data in seeds:
            TARGETS[name](data)
    base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    done: Counter[str] = Counter()
    deadline = time.monotonic() + seconds
    slowest = (0.0, "")
    while time.monotonic() < deadline:
        name = rng.choice(list(TARGETS))
        others = corpus[name] if rng.random() < 0.9 else corpus["log"]
        data = (
            rng.randbytes(rng.randrange(400))
            if rng.random() < 0.02
            else mutate(rng, rng.choice(corpus[name]), others)
        )
        started = time.process_time()
        faulthandler.dump_traceback_later(60, exit=True)
        try:
            TARGETS[name](data)
            spent = time.process_time() - started
            slowest = max(slowest, (spent, name))
            grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10) - base
            assert spent < MAX_SECONDS, f"{spent:.1f} s"
            assert grown < MAX_GROWTH, f"{grown >> 20} MiB more"
        except Exception:
            traceback.print_exc()
            failed = save / f"fuzz-{name}.bin"
            failed.write_bytes(data)
            print(f"seed {seed}, target {name}, input {done.total()}: saved {failed}")
            return 1
        done[name] += 1
    faulthandler.cancel_dump_traceback_later()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10) - base
    slow = f"slowest {slowest[0]:.2f} s ({slowest[1]})"
    print(f"seed {seed}: {done.total()} inputs, {slow}, {grown >> 20} MiB more")
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", type=Path, default=Path())
    options = parser.parse_args()
    sys.exit(fuzz(options.seconds, options.seed, options.save))
