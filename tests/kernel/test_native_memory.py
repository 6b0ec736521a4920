"""The C reads and writes only what it was given: sanitizers, and a page that must not be touched."""

import ctypes
import functools
import mmap
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import cramjam
import lz4.frame
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernel.log_writer import COMPRESS, varied_log
from tests.kernel.test_engines_agree import damaged, needs_native

from segmend.formats.codec import CodecError, decompress
from segmend.kernel import native
from segmend.kernel.columns import COLUMNS, SIZES, WantedRecords
from segmend.kernel.native_decoder import NativeDecoder, memory
from segmend.kernel.walker import DAMAGE, END, MORE, ScanTask

PROT_NONE = 0
HERE = Path(__file__).parent
SOURCES = Path(native.__file__).parent / "c"


@pytest.mark.slow
def test_damaged_logs_under_sanitizers(tmp_path: Path) -> None:
    compiler = shutil.which("gcc")
    if compiler is None:
        pytest.skip("gcc is needed for the sanitizers")
    logs = []
    for seed in range(5):
        logs.append(tmp_path / f"{seed}.log")
        logs[-1].write_bytes(varied_log(seed, 40))
    program = tmp_path / "harness"
    flags = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", f"-I{SOURCES}"]
    sources = [str(HERE / "harness.c"), *map(str, sorted(SOURCES.glob("*.c")))]
    subprocess.run([compiler, *flags, *sources, "-o", str(program)], check=True)
    done = subprocess.run([program, "1", "100", *logs], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("clean\n", "", 0)


class Guarded:
    """Bytes that end where a page begins that nobody may touch."""

    def __init__(self, data: bytes) -> None:
        page = mmap.PAGESIZE
        room = -(-max(len(data), 1) // page) * page
        self._map = mmap.mmap(-1, room + page)
        anchor = ctypes.c_char.from_buffer(self._map)
        libc = ctypes.CDLL(None, use_errno=True)
        last = ctypes.c_void_p(ctypes.addressof(anchor) + room)
        assert libc.mprotect(last, ctypes.c_size_t(page), PROT_NONE) == 0
        del anchor
        self.view = memoryview(self._map)[room - len(data) : room]
        self.view[:] = data


def walk_guarded(data: bytes, *, records: bool) -> None:
    task = ScanTask(
        base_offset=0, start=0, stop=len(data), end=len(data), crc=False, records=records,
        offset_index=None, time_index=None, producers=(),
    )  # fmt: skip
    guarded = Guarded(data)
    walker = native.walker(task)
    for _ in range(10_000):
        stop = walker.walk(guarded.view, 0)
        walker.take_problems()
        walker.take_deferred()
        if stop.status in (END, MORE):
            break
        if stop.status == DAMAGE:
            walker.skip(min(walker.position + 1, len(data)), None)
    walker.facts(whole=True)


def decode_guarded(data: bytes) -> None:
    guarded = Guarded(data)
    limits, wanted = (0, len(data), len(data)), WantedRecords(columns=frozenset({*COLUMNS, *SIZES}))
    decoder = NativeDecoder(wanted, limits, crc=False, target=1 << 16, allocate=memory)
    for _ in range(10_000):
        step = decoder.decode(guarded.view, 0)
        if step.status in (0, 1):
            return
        decoder.take()
        decoder.skip(min(decoder.position + 1, len(data)))


@needs_native
@pytest.mark.parametrize("seed", range(40))
def test_nothing_is_read_behind_the_window(seed: int) -> None:
    chance = random.Random(seed)
    data = damaged(seed)
    data = data[: chance.randrange(len(data))] if chance.random() < 0.5 else data
    walk_guarded(data, records=True)
    walk_guarded(data, records=False)
    decode_guarded(data)


def c_decompress(codec: int, data: bytes, limit: int) -> bytes | None:
    library = native.LIBRARY
    assert library is not None
    out = ctypes.c_void_p()
    library.segmend_decompress.restype = ctypes.c_int64
    library.segmend_decompress.argtypes = (
        ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p,
    )  # fmt: skip
    guarded = Guarded(data)
    at = native.address(guarded.view) if data else None
    size = library.segmend_decompress(codec, at, len(data), limit, ctypes.byref(out))
    result = None if size < 0 else ctypes.string_at(out, size) if size else b""
    library.segmend_release.argtypes = (ctypes.c_void_p,)
    library.segmend_release(out)
    return result


def payloads(chance: random.Random) -> bytes:
    """Bytes with repetitions near and far, of any size."""
    pieces = [chance.randbytes(chance.randrange(1, 30)) for _ in range(5)]
    parts = [chance.choice(pieces) * chance.choice([1, 1, 2, 50]) for _ in range(chance.randrange(1, 60))]
    return b"".join(parts) * chance.choice([1, 1, 40])


PACKERS: dict[int, list[Callable[[bytes], bytes]]] = {
    2: [
        COMPRESS[2],
        lambda plain: bytes(cramjam.snappy.compress_raw(plain)),
        lambda plain: xerial(plain, 700),
    ],
    3: [
        COMPRESS[3],
        *(
            functools.partial(lz4.frame.compress, block_linked=False, **options)
            for options in (
                {"block_size": lz4.frame.BLOCKSIZE_MAX1MB, "compression_level": 9},
                {"block_size": lz4.frame.BLOCKSIZE_MAX64KB, "content_checksum": True},
                {"block_checksum": True},
                {"store_size": True},
            )
        ),
    ],
}


def xerial(plain: bytes, size: int) -> bytes:
    """Snappy's Java stream, in blocks of `size` bytes."""
    blocks = (bytes(cramjam.snappy.compress_raw(plain[at : at + size])) for at in range(0, len(plain), size))
    return b"\x82SNAPPY\0\0\0\0\1\0\0\0\1" + b"".join(len(b).to_bytes(4, "big") + b for b in blocks)


def broken(packed: bytes, chance: random.Random) -> bytes:
    """The same with bits turned, bytes overwritten, a piece copied elsewhere, or the end cut off."""
    data = bytearray(packed)
    for _ in range(chance.randrange(1, 4)):
        at, other = chance.randrange(len(data)), chance.randrange(len(data))
        match chance.randrange(4):
            case 0 | 1:
                data[at] ^= 1 << chance.randrange(8)
            case 2:
                data[at] = chance.choice((0, 15, 240, 255))
            case _:
                data[at : at + 12] = data[other : other + 12]
    return bytes(data[: chance.randrange(len(data))] if chance.random() < 0.2 else data)


@needs_native
@pytest.mark.parametrize("codec", [2, 3], ids=["snappy", "lz4"])
@settings(max_examples=40)
@given(seed=st.integers(0, 2**64))
def test_what_the_c_decompresses_is_what_the_packages_decompress(codec: int, seed: int) -> None:
    """Whatever the bytes, the C gives what lz4 and cramjam give, or leaves the batch to them."""
    chance = random.Random(seed)
    plain = payloads(chance)
    usual = COMPRESS[codec](plain)
    assert c_decompress(codec, usual, 1 << 26) == plain
    assert c_decompress(codec, usual, len(plain) - 1) is None
    packed = chance.choice(PACKERS[codec])(plain)
    assert judged(codec, packed) == plain
    for data in (packed, *(broken(packed, chance) for _ in range(40))):
        found = c_decompress(codec, data, 1 << 22)
        assert found is None or found == judged(codec, data)


def judged(codec: int, data: bytes) -> bytes | None:
    try:
        return decompress(codec, data, limit=1 << 22)
    except CodecError:
        return None
