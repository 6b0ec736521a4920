"""Every small file that a real broker left: no damage, and byte for byte the same again."""

import functools
from collections import Counter
from types import ModuleType
from typing import Any

import pytest
from tests.conftest import golden_params
from tests.golden.shared import golden

from segmend.formats import (
    clean_shutdown,
    epoch_checkpoint,
    meta_properties,
    offset_checkpoint,
    offset_index,
    partition_metadata,
    producer_snapshot,
    quorum_state,
    time_index,
    txn_index,
)
from segmend.formats.damage import Damage
from segmend.formats.names import parse_dir_name, parse_file_name

BY_NAME: dict[str, ModuleType] = {
    module.FILE_NAME: module
    for module in (clean_shutdown, epoch_checkpoint, meta_properties, partition_metadata, quorum_state)
} | dict.fromkeys(offset_checkpoint.FILE_NAMES, offset_checkpoint)
BY_SUFFIX: dict[str, ModuleType] = {
    module.SUFFIX: module for module in (offset_index, time_index, txn_index, producer_snapshot)
}
ALWAYS = {".index", ".timeindex", "meta.properties", *offset_checkpoint.FILE_NAMES[:2]}
SINCE_0_9 = {".timeindex", "meta.properties"}

names = pytest.mark.parametrize("name", golden_params())


@functools.lru_cache(maxsize=4)
def parsed_and_rendered(module: Any, data: bytes) -> tuple[tuple[Damage, ...], bool]:
    """What is wrong with a file, and whether it renders the same; preallocated zeros are looked at once."""
    value, damages = module.parse(data)
    return damages, module.render(value) == data


@pytest.mark.slow
@names
def test_small_files_are_healthy_and_render_the_same(name: str) -> None:
    seen: Counter[str] = Counter()
    for path in sorted(golden(name).rglob("*")):
        kind = path.name if path.name in BY_NAME else path.suffix
        module = BY_NAME.get(kind) or BY_SUFFIX.get(kind)
        if module is None or not path.is_file():
            continue
        data = path.read_bytes()
        damages, same = parsed_and_rendered(module, data)
        assert damages == (), path
        assert same, path
        seen[kind] += 1
    assert set(seen) >= (ALWAYS - SINCE_0_9 if name.startswith("0.8") else ALWAYS)
    if "clean" in name:
        assert seen[".kafka_cleanshutdown"]


@names
def test_every_name_is_one_the_broker_takes(name: str) -> None:
    paths = sorted(golden(name).glob("b*/d*/*/*"))
    assert paths
    for path in paths:
        directory, file = parse_dir_name(path.parent.name), parse_file_name(path.name)
        assert directory.kind != "foreign"
        assert file.kind not in ("unparsable", "other"), path
        assert file.padded
