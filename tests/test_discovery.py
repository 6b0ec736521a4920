"""Modules are found as `pkgutil` finds them, in folders and in a zip."""

import pkgutil
import sys
import zipfile
from pathlib import Path

import pytest

import segmend
from segmend.discovery import modules_in


def test_every_package_has_the_same_modules() -> None:
    packages = [str(each.parent) for each in Path(segmend.__path__[0]).rglob("*/__init__.py")]
    assert len(packages) > 40
    for package in packages:
        assert modules_in([package]) == sorted(each.name for each in pkgutil.iter_modules([package])), package


def test_modules_of_a_zip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with zipfile.ZipFile(tmp_path / "some.zip", "w") as archive:
        archive.writestr("house/__init__.py", "")
        archive.writestr("house/room.py", "")
    monkeypatch.syspath_prepend(tmp_path / "some.zip")
    import house  # type: ignore[import-not-found]

    assert modules_in(house.__path__) == ["room"]
    sys.modules.pop("house")
