"""The HTML report of an audit; its one door is `render`."""

from __future__ import annotations

from .growth import DRAWN, Past
from .render import render

__all__ = ["DRAWN", "Past", "render"]
