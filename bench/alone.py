"""A function in a process of its own, with what it cost: the peak of its memory is nobody else's."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from segmend.cli.main import main


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What one call took: `workers` are the CPU seconds of the process pools that it started."""

    result: Any
    wall: float
    cpu: float
    workers: float
    peak_mib: float


def alone(function: Callable[..., Any], *arguments: Any) -> Cost:
    """Call it in a fresh process and wait; RuntimeError where it fails."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_call, args=(there, function, arguments))
    process.start()
    there.close()
    try:
        found: Cost = here.recv()
    except EOFError:
        raise RuntimeError(f"{function.__name__} failed") from None
    finally:
        process.join()
    return found


def command(*words: object) -> None:
    """Of segmend, as its process begins: nothing but this module was loaded."""
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        main([str(word) for word in words])


def _call(to: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    started = time.perf_counter()
    result = function(*arguments)
    mine, pools = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    to.send(
        Cost(
            result=result,
            wall=time.perf_counter() - started,
            cpu=mine.ru_utime + mine.ru_stime,
            workers=pools.ru_utime + pools.ru_stime,
            peak_mib=mine.ru_maxrss / 1024,
        )
    )
