"""Decompression as Kafka reads: framings, old faults, damage, and the bound."""

import gzip
import random
import threading
import time
import tracemalloc
import zlib

import cramjam
import lz4.frame
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples, one_in

from segmend.formats.codec import GZIP, LZ4, NONE, SNAPPY, ZSTD, CodecError, decompress
from segmend.formats.codec_write import compress
from segmend.formats.lz4_frame import header_checksum

TEXT = b"".join(b'{"id": %d, "name": "some text", "ok": true}\n' % i for i in range(3000))
MIXED = random.Random(1).randbytes(200_000) + TEXT
CODECS = pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD], ids=["gzip", "snappy", "lz4", "zstd"])


def failure(codec: int, data: bytes, *, limit: int = 1 << 20, magic: int = 2) -> CodecError:
    with pytest.raises(CodecError) as caught:
        decompress(codec, data, limit=limit, magic=magic)
    assert 0 <= caught.value.position <= len(data)
    return caught.value


@CODECS
@pytest.mark.parametrize("data", [b"", b"x", TEXT, MIXED], ids=["empty", "one", "text", "mixed"])
def test_what_kafka_writes_is_read(codec: int, data: bytes) -> None:
    packed = compress(codec, data)
    assert decompress(codec, packed) == data
    assert decompress(codec, memoryview(b"##" + packed)[2:]) == data
    assert decompress(codec, packed, limit=len(data)) == data


def test_no_codec() -> None:
    assert decompress(NONE, b"abc") == b"abc"


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_illegal_codecs_have_kafkas_words(codec: int) -> None:
    error = failure(codec, b"abc")
    assert (error.kind, str(error)) == ("unknown-codec", f"Unknown compression type id: {codec}")
    with pytest.raises(ValueError, match="Unknown compression type"):
        compress(codec, b"abc")


def attempt(codec: int, data: bytes, *, limit: int = 1 << 20) -> tuple[bytes, CodecError | None]:
    try:
        return decompress(codec, data, limit=limit), None
    except CodecError as error:
        return error.partial, error


@CODECS
def test_every_truncation_is_noticed(codec: int) -> None:
    packed = compress(codec, TEXT[:3000])
    for size in range(1, len(packed), 3):
        out, error = attempt(codec, packed[:size])
        assert TEXT.startswith(out)
        # A stream of snappy chunks has no end mark, so a cut between two of them is no fault.
        assert (error is not None and error.kind == "undecodable") or (
            codec == SNAPPY and size in (16, 17, 18, 19)
        )


@CODECS
@given(data=st.binary(max_size=300))
@examples(60)
def test_any_bytes_are_refused_or_bounded(codec: int, data: bytes) -> None:
    for payload in (data, compress(codec, TEXT[:200])[:12] + data):
        out, error = attempt(codec, payload, limit=1000)
        assert len(out) <= (1000 if error is None else 1 << 20)


@CODECS
@given(data=st.binary(max_size=2000))
@examples(25)
def test_round_trip(codec: int, data: bytes) -> None:
    assert decompress(codec, compress(codec, data)) == data


def bomb(codec: int, size: int) -> bytes:
    return compress(codec, bytes(size))


@CODECS
def test_a_bomb_stops_at_the_limit(codec: int) -> None:
    packed = bomb(codec, 128 << 20)
    tracemalloc.start()
    started = time.process_time()
    error = failure(codec, packed, limit=1 << 20)
    assert time.process_time() - started < 1.0
    assert tracemalloc.get_traced_memory()[1] < 24 << 20
    tracemalloc.stop()
    assert error.kind == "over-limit"
    assert error.partial == bytes(len(error.partial))
    assert len(error.partial) <= 1 << 20


class TestGzip:
    def test_members_follow_each_other(self) -> None:
        assert (
            decompress(GZIP, gzip.compress(b"abc") + gzip.compress(b"") + gzip.compress(TEXT))
            == b"abc" + TEXT
        )

    def test_bytes_after_the_last_member_are_ignored_as_java_does(self) -> None:
        assert decompress(GZIP, gzip.compress(b"abc") + b"rest") == b"abc"

    def test_a_thousand_tiny_members_are_not_copied_a_thousand_times(self) -> None:
        many = gzip.compress(b"") * 50_000
        started = time.process_time()
        assert decompress(GZIP, many) == b""
        assert time.process_time() - started < 2.0

    def test_a_wrong_checksum(self) -> None:
        packed = bytearray(gzip.compress(TEXT))
        packed[-6] ^= 1
        assert failure(GZIP, bytes(packed)).kind == "undecodable"

    def test_plain_deflate_is_no_gzip(self) -> None:
        assert failure(GZIP, zlib.compress(TEXT)).position == 0

    def test_a_member_of_many_pieces(self) -> None:
        data = bytes(5 << 20)
        assert decompress(GZIP, gzip.compress(data)) == data


XERIAL = b"\x82SNAPPY\x00\x00\x00\x00\x01\x00\x00\x00\x01"


class TestSnappy:
    raw = bytes(cramjam.snappy.compress_raw(TEXT[:20_000]))
    chunk = len(raw).to_bytes(4, "big") + raw

    def test_a_bare_block_of_other_clients(self) -> None:
        assert decompress(SNAPPY, self.raw) == TEXT[:20_000]

    def test_chunks_and_concatenated_streams(self) -> None:
        twice = XERIAL + self.chunk + self.chunk
        assert decompress(SNAPPY, twice + twice) == TEXT[:20_000] * 4

    def test_versions_that_nobody_looks_at(self) -> None:
        """Seen on the xerial of 0.10.2.2 to 4.3.1: that of a second header alone counts."""
        for odd in (bytes(4), b"\xff\0\0\0"):
            assert decompress(SNAPPY, XERIAL[:12] + odd + self.chunk) == TEXT[:20_000]
            assert decompress(SNAPPY, XERIAL[:8] + odd + XERIAL[12:] + self.chunk) == TEXT[:20_000]
            twice = XERIAL + self.chunk + XERIAL[:12] + odd + self.chunk
            assert decompress(SNAPPY, twice) == TEXT[:20_000] * 2

    def test_a_header_without_chunks(self) -> None:
        assert decompress(SNAPPY, XERIAL) == b""

    @pytest.mark.parametrize(
        ("data", "position"),
        [
            (b"", 0),
            (XERIAL + chunk + XERIAL[:11] + b"\x00" + XERIAL[12:] + chunk, 24 + len(chunk)),
            (XERIAL + chunk + XERIAL[:8] + b"\xff" + XERIAL[9:] + chunk, 24 + len(chunk)),
            (XERIAL + chunk[:-1], 16),
            (XERIAL + b"\xff\xff\xff\xff" + raw, 16),
            (XERIAL + chunk + XERIAL[:10], 16 + len(chunk)),
            (XERIAL + b"\x00\x00\x00\x05hello", 20),
        ],
    )
    def test_damage_is_located(self, data: bytes, position: int) -> None:
        assert failure(SNAPPY, data).position == position

    def test_the_length_a_block_claims_takes_no_memory(self) -> None:
        assert failure(SNAPPY, b"\xff\xff\xff\xff\x0f" + bytes(10)).kind == "over-limit"
        several = XERIAL + self.chunk * 3
        error = failure(SNAPPY, several, limit=30_000)
        assert error.kind == "over-limit"


class TestLz4:
    @pytest.mark.parametrize(
        "options",
        [
            {},
            {"store_size": False},
            {"content_checksum": True},
            {"block_checksum": True},
            {"block_size": lz4.frame.BLOCKSIZE_MAX4MB, "block_checksum": True},
        ],
        ids=str,
    )
    def test_frames_of_other_clients(self, options: dict[str, int]) -> None:
        frame = lz4.frame.compress(MIXED, block_linked=False, **options)
        assert decompress(LZ4, frame) == MIXED

    def test_a_content_checksum_that_is_cut_off(self) -> None:
        """`Lz4BlockInputStream` looks for its bytes, and throws BufferUnderflowException (4.3.1)."""
        frame = lz4.frame.compress(MIXED, block_linked=False, content_checksum=True)
        for cut in range(1, 5):
            assert "no content checksum" in failure(LZ4, frame[:-cut]).reason
        assert decompress(LZ4, frame[:-4] + b"none") == MIXED

    def test_nothing_is_read_behind_a_block_of_no_bytes(self) -> None:
        """4.3.1 takes it for the end: "premature EOF reached"; right before the end it does no harm."""
        head, end = compress(LZ4, b"")[:7], bytes(4)
        empty, full = b"\1\0\0\0\0", b"\3\0\0\x80abc"
        assert decompress(LZ4, head + full + empty + empty + end) == b"abc"
        for blocks in (empty + full, full + empty + full):
            assert "a block of no bytes" in failure(LZ4, head + blocks + end).reason

    def test_liblz4_reads_what_is_written(self) -> None:
        assert lz4.frame.decompress(compress(LZ4, MIXED)) == MIXED

    def test_bytes_after_the_end_mark_are_ignored(self) -> None:
        assert decompress(LZ4, compress(LZ4, b"abc") + b"rest") == b"abc"

    def test_the_header_checksum_and_its_old_fault(self) -> None:
        assert header_checksum(b"\x60\x40") == 0x82  # every frame of a Java producer
        old = compress(LZ4, b"abc", magic=0)
        assert old[6] == header_checksum(b"\x04\x22\x4d\x18\x60\x40") != 0x82
        assert decompress(LZ4, old, magic=0) == b"abc"
        assert "descriptor corrupted" in failure(LZ4, old, magic=1).reason

    @pytest.mark.parametrize("size", [0, 3, 8, 100])
    def test_the_checksum_agrees_with_liblz4(self, size: int) -> None:
        frame = lz4.frame.compress(bytes(size), block_linked=False, content_checksum=size == 3)
        length = 15 if frame[4] & 8 else 7
        assert frame[length - 1] == header_checksum(frame[4 : length - 1])

    @pytest.mark.parametrize(
        ("flags", "descriptor", "words"),
        [
            (0x61, 0x40, "Reserved bits"),
            (0x62, 0x40, "Reserved bits"),
            (0x60, 0xC0, "Reserved bits"),
            (0x60, 0x41, "Reserved bits"),
            (0x40, 0x40, "BLOCK_INDEPENDENCE"),
            (0xA0, 0x40, "Version 2 is unsupported"),
            (0x60, 0x30, "Block size value"),
            (0x68, 0x40, "ended prematurely"),
        ],
    )
    def test_what_kafka_refuses_in_the_header(self, flags: int, descriptor: int, words: str) -> None:
        assert words in failure(LZ4, b"\x04\x22\x4d\x18" + bytes((flags, descriptor, 0)) + b"\0\0\0\0").reason

    @pytest.mark.parametrize(
        ("rest", "words"),
        [
            (b"", "ended prematurely"),
            (b"\x01\x00\x01\x00", "exceeded max: 65536"),
            (b"\x09\x00\x00\x00abc", "ended prematurely"),
            (b"\x03\x00\x00\x00\xff\xff\xff\x00\x00\x00\x00", "lz4:"),
        ],
    )
    def test_what_kafka_refuses_in_a_block(self, rest: bytes, words: str) -> None:
        error = failure(LZ4, b"\x04\x22\x4d\x18\x60\x40\x82" + rest)
        assert words in error.reason
        assert error.position == 7

    def test_a_block_checksum_is_verified(self) -> None:
        frame = bytearray(lz4.frame.compress(TEXT, block_linked=False, block_checksum=True))
        frame[len(frame) // 2] ^= 1
        assert "Block checksum" in failure(LZ4, bytes(frame)).reason

    def test_other_bytes(self) -> None:
        assert "invalid magic" in failure(LZ4, b"0123456789").reason
        assert "ended prematurely" in failure(LZ4, b"0123").reason


class TestZstd:
    @pytest.mark.parametrize("level", one_in(2, [1, 22, 3, 19]))
    def test_levels_checksums_and_several_frames(self, level: int) -> None:
        packer = zstandard.ZstdCompressor(level=level, write_checksum=True, write_content_size=level == 19)
        assert decompress(ZSTD, packer.compress(MIXED) + packer.compress(TEXT)) == MIXED + TEXT

    def test_skippable_frames(self) -> None:
        skip = b"\x5f\x2a\x4d\x18\x03\x00\x00\x00abc"
        assert decompress(ZSTD, skip + compress(ZSTD, b"x") + skip) == b"x"
        assert failure(ZSTD, skip[:-1]).kind == "undecodable"
        assert failure(ZSTD, skip[:6]).kind == "undecodable"

    def test_content_after_which_the_frame_is_cut(self) -> None:
        packed = compress(ZSTD, MIXED)
        error = failure(ZSTD, packed[:-1])
        assert "Truncated source" in error.reason
        assert MIXED.startswith(error.partial)
        assert len(error.partial) >= 128 << 10

    def test_a_checksum_is_verified(self) -> None:
        packed = bytearray(zstandard.ZstdCompressor(write_checksum=True).compress(TEXT))
        packed[-1] ^= 1
        assert failure(ZSTD, bytes(packed)).kind == "undecodable"

    @pytest.mark.parametrize(
        "data",
        [b"(\xb5/\xfd", b"12345678", b"(\xb5/\xfd\x00\x58\xff\xff\xff", b"(\xb5/\xfd\x20\x05\x06\x00\x00"],
    )
    def test_what_is_no_frame(self, data: bytes) -> None:
        assert failure(ZSTD, data).kind == "undecodable"

    def test_it_is_not_legal_before_version_2(self) -> None:
        for magic in (0, 1):
            assert failure(ZSTD, compress(ZSTD, b"x"), magic=magic).kind == "unknown-codec"

    def test_threads_do_not_disturb_each_other(self) -> None:
        payloads = [bytes((i,)) * 50_000 + TEXT for i in range(4)]
        wrong: list[int] = []

        def work(number: int) -> None:
            packed = compress(ZSTD, payloads[number])
            wrong.extend(number for _ in range(30) if decompress(ZSTD, packed) != payloads[number])

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
