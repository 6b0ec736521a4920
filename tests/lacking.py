"""What a machine may lack, and CI may not."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def lacking(reason: str) -> NoReturn:
    """Skip a test for which the machine lacks something; with CI=true fail it."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"CI must not lack this: {reason}", pytrace=False)
    pytest.skip(reason)
