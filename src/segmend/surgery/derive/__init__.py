"""What derived files are computed from: segments, batches, producers, and the order a broker writes in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Arguments = Mapping[str, Any]
"""What a plan gives to a recipe: JSON values."""
