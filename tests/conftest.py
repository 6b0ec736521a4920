"""What all tests share: golden log directories, unpacked once a run whatever the number of workers."""

from __future__ import annotations

import fcntl
import functools
import gc
import json
import lzma
import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.golden.unpack import unpack

GOLDEN = Path(__file__).parent / "golden"
MEMORY = Path("/dev/shm")
ROOM = 8 << 30
"""Bytes; they take up 2 GB."""
QUICK = frozenset({"0.8.2.2-killed", "4.3.1-killed"})

# No test is late: hypothesis gives each example 200 ms by default, and a busy machine takes longer.
settings.register_profile("segmend", deadline=None)
settings.load_profile("segmend")

# Spark's workers unpickle functions of test modules, so they too must find `tests`.
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(GOLDEN.parents[1]), os.environ.get("PYTHONPATH")])
)


def pytest_configure(config: pytest.Config) -> None:
    """The fast tests have their files in memory where there is room: they make and remove 100,000 of them."""
    chosen = config.option.basetemp or os.environ.get("TMPDIR") or os.environ.get("PYTEST_DEBUG_TEMPROOT")
    fast = "not slow" in config.option.markexpr and not hasattr(config, "workerinput")
    if fast and not chosen and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(MEMORY)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """What lies in memory goes at once, unless someone will want to look at it."""
    folder = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    if exitstatus == 0 and not hasattr(session.config, "workerinput") and MEMORY in folder.parents:
        shutil.rmtree(folder, ignore_errors=True)


def pytest_collection_finish() -> None:
    """Thousands of collected tests stay until the end: the collector need not look at them each time."""
    gc.collect()
    gc.freeze()


def golden_names() -> list[str]:
    """Every golden directory, by the name of its archive."""
    return sorted(path.name.removesuffix(".tar.xz") for path in GOLDEN.glob("*.tar.xz"))


def golden_params(names: Iterable[str] = ()) -> list[Any]:
    """These golden directories (all, by default) for a test that reads every byte of them.

    The fast tests take the killed ones, which hold more, of the oldest and the newest formats; CI takes all.
    """
    return [
        name if name in QUICK else pytest.param(name, marks=pytest.mark.slow)
        for name in names or golden_names()
    ]


def one_in(count: int, values: Iterable[Any]) -> list[Any]:
    """These values for a test of which the fast tests run every `count`-th case, and CI runs all."""
    return [
        value if number % count == 0 else pytest.param(value, marks=pytest.mark.slow)
        for number, value in enumerate(values)
    ]


@pytest.fixture(scope="session")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """`golden(name)` is the root of an unpacked golden directory. Read it only: all tests share it."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    root = shared / "golden"
    root.mkdir(exist_ok=True)

    def unpacked(name: str) -> Path:
        target = root / name
        with open(root / f"{name}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not target.exists():
                part = root / f"{name}.part"
                unpack(GOLDEN / f"{name}.tar.xz", part)
                part.rename(target)
        return target

    return unpacked


@functools.cache
def expected(name: str) -> dict[str, Any]:
    """What the broker itself said of a golden directory."""
    with lzma.open(GOLDEN / f"{name}.expected.json.xz") as file:
        content: dict[str, Any] = json.load(file)
    return content
