"""Run a command as a user does, in this process: what it prints, and its exit code."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from segmend.cli.main import main


@dataclass(frozen=True)
class Ran:
    """One run."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> list[dict[str, Any]]:
        """The JSON objects on stdout."""
        return [json.loads(line) for line in self.out.splitlines()]

    def of(self, type: str) -> list[dict[str, Any]]:
        """The JSON objects of one type."""
        return [row for row in self.json if row["type"] == type]


def run(capsys: pytest.CaptureFixture[str], *argv: object) -> Ran:
    """`segmend ARGV...`"""
    code = main([str(part) for part in argv])
    captured = capsys.readouterr()
    return Ran(code, captured.out, captured.err)
