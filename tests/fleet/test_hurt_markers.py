"""`read_committed` where the marker that ends a transaction is hurt: the index of the aborted ones tells."""

import random
import struct
from itertools import pairwise
from pathlib import Path

import pytest
from tests.golden.unpack import unpack
from tests.lab.upgrade import ARCHIVES
from tests.seeds import SEED, sampled

from segmend.fleet.options import parse_options
from segmend.fleet.tables import open_table, read

MARKERS = [(329, 407), (738, 816), (1147, 1225), (1557, 1635)]
"""The markers of `txn-0` in bytes of its log: commit, abort, commit, abort."""
COMMITTED = [0, 1, 2, 8, 9, 10]
HOLDS = {0: [0, 1, 2], 816: [8, 9, 10]}
"""By where the batch begins."""


def committed(root: Path) -> list[int]:
    options = parse_options({"subscribe": "txn", "isolation": "read_committed"})
    batches = [batch for work in open_table([str(root)], options, cores=1) for batch in read(work)]
    return sorted(offset for batch in batches for offset in batch["offset"].to_pylist())


@pytest.mark.parametrize("number", range(sampled(400, 30)))
def test_no_record_of_an_aborted_transaction_is_given(number: int, tmp_path: Path) -> None:
    drawn = random.Random(SEED * 1_000 + number)
    root = unpack(ARCHIVES / "4.3.1.tar.xz", tmp_path) / "b1"
    log = root / "d0/txn-0" / f"{0:020d}.log"
    data, (begin, end) = bytearray(log.read_bytes()), drawn.choice(MARKERS)
    position = drawn.randrange(begin, end)
    data[position] ^= 1 << drawn.randrange(8)
    log.write_bytes(data)
    assert committed(root) == COMMITTED, (position - begin, begin)


def test_a_marker_is_cut_out_of_the_log(tmp_path: Path) -> None:
    root = unpack(ARCHIVES / "4.3.1.tar.xz", tmp_path) / "b1"
    log = root / "d0/txn-0" / f"{0:020d}.log"
    data, (begin, end) = bytearray(log.read_bytes()), MARKERS[1]
    data[begin:end] = bytes(end - begin)
    log.write_bytes(data)
    assert committed(root) == COMMITTED


@pytest.mark.parametrize("number", range(4))
def test_a_size_that_claims_other_batches_hides_no_transaction(number: int, tmp_path: Path) -> None:
    """Of the batches that a wrong size claims, or of which it leaves a rest, each is in its transaction."""
    root = unpack(ARCHIVES / "4.3.1.tar.xz", tmp_path) / "b1"
    log = root / "d0/txn-0" / f"{0:020d}.log"
    data, begins = log.read_bytes(), [begin for marker in MARKERS for begin in (marker[0], marker[1])]
    batches = list(pairwise([0, *begins]))
    for begin, whole in (batches[2 * number], batches[2 * number + 1]):
        for end in sorted({at + more for at in (*begins, whole) for more in (-7, 0, 13)} - {whole}):
            if begin + 61 < end <= len(data):
                hurt = bytearray(data)
                struct.pack_into(">i", hurt, begin + 8, end - begin - 12)
                log.write_bytes(hurt)
                given, claimed = committed(root), [at for at in (0, 816) if begin <= at < max(end, whole)]
                kept = [offset for at in {0, 816} - {*claimed} for offset in HOLDS[at]]
                assert {*kept} <= {*given} <= {*COMMITTED}, (begin, end)
