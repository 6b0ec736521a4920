"""The C reads and writes only what it was given: sanitizers, and a page that must not be touched."""

from __future__ import annotations

import ctypes
import mmap
import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.kernel.log_writer import COMPRESS, varied_log
from tests.kernel.test_engines_agree import damaged, needs_native

from segmend.formats.codec import CodecError, decompress
from segmend.kernel import native
from segmend.kernel.columns import COLUMNS, Wanted
from segmend.kernel.native_decoder import NativeDecoder, zeros
from segmend.kernel.walker import DAMAGE, END, MORE, Task

PROT_NONE = 0
HERE = Path(__file__).parent
SOURCES = Path(native.__file__).parent / "c"


@pytest.mark.slow
def test_damaged_logs_under_sanitizers(tmp_path: Path) -> None:
    compiler = shutil.which("gcc")
    if compiler is None:
        if os.environ.get("CI"):
            pytest.fail("gcc is needed for the sanitizers")
        pytest.skip("gcc is needed for the sanitizers; CI has it")
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
    task = Task(
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
    limits = (0, len(data), len(data))
    decoder = NativeDecoder(
        Wanted(columns=frozenset(COLUMNS)), limits, crc=False, target=1 << 16, allocate=zeros
    )
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


@needs_native
@pytest.mark.parametrize("codec", [2, 3], ids=["snappy", "lz4"])
@pytest.mark.parametrize("seed", range(30))
def test_what_the_c_decompresses_is_what_formats_codec_decompresses(codec: int, seed: int) -> None:
    chance = random.Random(seed)
    plain = payloads(chance)
    packed = COMPRESS[codec](plain)
    assert c_decompress(codec, packed, 1 << 26) == plain
    assert c_decompress(codec, packed, len(plain) - 1) is None
    for _ in range(40):
        broken = bytearray(packed)
        for _ in range(chance.randrange(1, 4)):
            broken[chance.randrange(len(broken))] ^= 1 << chance.randrange(8)
        broken = broken[: chance.randrange(len(broken))] if chance.random() < 0.2 else broken
        found = c_decompress(codec, bytes(broken), 1 << 22)
        if found is not None:
            assert found == judged(codec, bytes(broken))


def judged(codec: int, data: bytes) -> bytes | None:
    try:
        return decompress(codec, data, limit=1 << 22)
    except CodecError:
        return None
