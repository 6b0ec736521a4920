"""What holds for every format, found by its `parse` and `render`; a new one only needs a sample."""

import importlib
import pkgutil
from importlib.util import find_spec
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import examples

import segmend.formats
from segmend.formats.damage import Damage

LOSSLESS = {"offset_index", "time_index", "txn_index", "java_properties", "meta_properties"}
"""Their values keep every byte, damaged ones too."""
EMPTY = {
    **dict.fromkeys(("epoch_checkpoint", "offset_checkpoint"), (b"", b"0\n", b"0\n0\n")),
    **dict.fromkeys(LOSSLESS, (b"",)),
}
"""Files without an entry that a broker reads without a word."""
SAMPLES: dict[str, bytes] = {
    "clean_shutdown": b'{"version":0,"brokerEpoch":27}',
    "epoch_checkpoint": b"0\n2\n0 0\n3 105\n",
    "java_properties": b"# comment\na=b\\\n c\n",
    "meta_properties": b"#\nnode.id=1\nversion=1\ncluster.id=x\ndirectory.id=0aMmLnfGQSucDIs5kDcaAA\n",
    "offset_checkpoint": b"0\n2\na 0 1\nb 1 2\n",
    "offset_index": bytes.fromhex("0000000500001000 0000000a00002000 0000000000000000"),
    "partition_metadata": b"version: 0\ntopic_id: 0aMmLnfGQSucDIs5kDcaAA",
    "posix_acl": bytes.fromhex(
        "02000000 01000600ffffffff 0200060039300000 10000600ffffffff 20000000ffffffff"
    ),
    "producer_snapshot": bytes.fromhex("0001 48674bc7 00000000"),
    "quorum_state": b'{"clusterId":"","leaderId":1,"leaderEpoch":7,"votedId":-1,"appliedOffset":0,'
    b'"currentVoters":[{"voterId":1}],"data_version":0}',
    "time_index": bytes.fromhex("0000018bcfe5680000000007 0000018bcfe56be800000009 000000000000000000000000"),
    "txn_index": bytes.fromhex("0000 0000000000000002 0000000000000004 0000000000000016 0000000000000017"),
}


def with_a_file() -> list[ModuleType]:
    """The formats of whole files; batches and control records are parts of one."""
    found = []
    for info in sorted(pkgutil.iter_modules(segmend.formats.__path__), key=lambda info: info.name):
        module = importlib.import_module(f"segmend.formats.{info.name}")
        if hasattr(module, "parse") and hasattr(module, "render") and info.name != "control":
            found.append(module)
    return found


FILES = with_a_file()


def name_of(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def sample(module: ModuleType) -> bytes:
    return SAMPLES[name_of(module)]


formats = pytest.mark.parametrize("module", FILES, ids=name_of)


def check(module: ModuleType, data: bytes) -> tuple[Damage, ...]:
    value, damages = module.parse(data)
    assert isinstance(damages, tuple)
    assert len(damages) <= 20
    for damage in damages:
        assert 0 <= damage.position <= len(data)
        assert damage.kind == damage.kind.lower().replace(" ", "-") != ""
        assert damage.reason
    if value is not None:
        rendered = module.render(value)
        assert rendered == data if name_of(module) in LOSSLESS else isinstance(rendered, bytes)
    return damages


@formats
def test_a_healthy_file_renders_the_same(module: ModuleType) -> None:
    for data in (sample(module), *EMPTY.get(name_of(module), ())):
        value, damages = module.parse(data)
        assert damages == ()
        assert module.render(value) == data


TABLES = [
    pytest.param(module, *row, id=f"{name_of(module)} {number}")
    for module in FILES
    if find_spec(f"tests.formats.test_{name_of(module)}")
    for number, row in enumerate(
        getattr(importlib.import_module(f"tests.formats.test_{name_of(module)}"), "DAMAGED", ())
    )
]


@pytest.mark.parametrize(("module", "data", "found"), TABLES)
def test_damage_is_told_with_its_place(module: ModuleType, data: bytes, found: list[tuple[str, int]]) -> None:
    assert [(damage.kind, damage.position) for damage in check(module, data)] == found


@formats
def test_every_truncation_is_answered(module: ModuleType) -> None:
    for size in range(len(sample(module))):
        check(module, sample(module)[:size])


@formats
def test_every_flipped_byte_is_answered(module: ModuleType) -> None:
    for at in range(len(sample(module))):
        for mask in (0x01, 0x80, 0xFF):
            data = bytearray(sample(module))
            data[at] ^= mask
            check(module, bytes(data))


@formats
@given(data=st.binary(max_size=100))
@examples(60)
def test_any_bytes_are_answered(module: ModuleType, data: bytes) -> None:
    check(module, data)


@formats
def test_a_long_run_of_anything_is_answered(module: ModuleType, all_cases: bool) -> None:
    fillers = (b"\x00", b"\xff", b"\n", b"0\n", b"a 1 2\n", b"5 5\n", b"\\u", b"{", b'{"a":')
    for filler in fillers if all_cases else fillers[2::2]:
        check(module, sample(module) + filler * (100_000 // len(filler)))


def test_formats_do_not_touch_the_outside() -> None:
    banned = {"os", "io", "pathlib", "mmap", "time", "datetime", "logging", "socket", "subprocess"}
    for info in pkgutil.iter_modules(segmend.formats.__path__):
        module = importlib.import_module(f"segmend.formats.{info.name}")
        used = {
            getattr(value, "__name__", "") for value in vars(module).values() if isinstance(value, ModuleType)
        }
        assert not used & banned, module
