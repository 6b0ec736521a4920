"""The HTML report of an audit; its doors are `build` and `render`."""

from __future__ import annotations

from .growth import DRAWN, Past
from .model import build
from .render import render

__all__ = ["DRAWN", "Past", "build", "render"]
