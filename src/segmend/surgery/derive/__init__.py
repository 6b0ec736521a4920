"""What derived files are computed from: segments, batches, producers, and the order a broker writes in."""

from __future__ import annotations

from segmend.json_values import JsonObject

Arguments = JsonObject
"""What a plan gives to a recipe: JSON values."""
