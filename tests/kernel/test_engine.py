"""Which engine runs, and that segmend runs without the compiled kernel and from within a zip."""

import ctypes
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from tests.kernel.test_engines_agree import needs_native

import segmend.crc32c
from segmend.kernel import native
from segmend.kernel.layout import fits

SOURCE = Path(segmend.crc32c.__file__).parent
PROGRAM = """
from segmend.crc32c import crc32c
from segmend.kernel.engine import ENGINE
import sys
print(ENGINE.name, hex(crc32c(b"123456789")), "crc32c" in sys.modules, "numpy" in sys.modules)
"""


def run(path: Path, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": str(path), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@needs_native
def test_the_compiled_kernel_is_used_and_nothing_heavy_is_imported() -> None:
    assert run(SOURCE.parent, SEGMEND_KERNEL="") == "native 0xe3069283 False False"


def test_the_reference_can_be_asked_for() -> None:
    assert run(SOURCE.parent, SEGMEND_KERNEL="reference").startswith("reference 0xe3069283")


@pytest.mark.parametrize("library", [None, b"not a library"])
def test_without_a_usable_library_the_reference_does_the_work(tmp_path: Path, library: bytes | None) -> None:
    copy = copy_of_the_core(tmp_path / "copy")
    (copy / "segmend" / "_kernel.so").unlink(missing_ok=True)
    if library is not None:
        (copy / "segmend" / "_kernel.so").write_bytes(library)
    assert run(copy) == "reference 0xe3069283 True False"


@needs_native
def test_the_library_is_loaded_from_within_a_zip(tmp_path: Path) -> None:
    copy = copy_of_the_core(tmp_path / "copy")
    archive = tmp_path / "segmend.zip"
    with zipfile.ZipFile(archive, "w") as zipped:
        for path in copy.rglob("*"):
            zipped.write(path, path.relative_to(copy))
    assert run(archive) == "native 0xe3069283 False False"


def copy_of_the_core(target: Path) -> Path:
    for part in ("*.py", "*.so", "formats/*.py", "kernel/*.py"):
        for path in SOURCE.glob(part):
            copy = target / "segmend" / path.relative_to(SOURCE)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    return target


@needs_native
def test_a_library_of_another_version_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "ABI", native.ABI + 1)
    with pytest.warns(RuntimeWarning, match="version 5 there, 6 here"):
        assert native._bind(native.LIBRARY) is None
    monkeypatch.undo()
    assert native._bind(native.LIBRARY) is not None


@needs_native
def test_a_library_with_a_field_elsewhere_is_not_used() -> None:
    assert native.LIBRARY is not None

    class Swapped(ctypes.Structure):
        _fields_ = (
            native.WalkStruct._fields_[1],
            native.WalkStruct._fields_[0],
            *native.WalkStruct._fields_[2:],
        )

    class Shorter(ctypes.Structure):
        _fields_ = native.WalkStruct._fields_[:-1]

    for structure, words in (
        (Swapped, "stop is 8 there, 0 here"),
        (Shorter, "stretch_room is [0-9]+ there, None here"),
    ):
        with pytest.warns(RuntimeWarning, match=words):
            assert not fits(native.LIBRARY, "segmend_walk_places", structure, native._SIZES)
    with pytest.warns(RuntimeWarning, match="sizeof epoch_t is 16 there, 24 here"):
        assert not fits(
            native.LIBRARY, "segmend_walk_places", native.WalkStruct, {**native._SIZES, "epoch_t": 24}
        )
    with pytest.warns(RuntimeWarning, match="it has no segmend_other_places"):
        assert not fits(native.LIBRARY, "segmend_other_places", native.WalkStruct, {})
