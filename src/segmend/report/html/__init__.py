"""The HTML report of an audit; its one door is `render`."""

from __future__ import annotations

from .growth import Past
from .render import render

__all__ = ["Past", "render"]
