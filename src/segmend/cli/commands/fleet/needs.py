"""The packages that sub-commands need beside segmend, and the extras that have them."""

from __future__ import annotations

from importlib.util import find_spec

from segmend.errors import MissingExtra

# What needs a package, the extra that has it, and what does without.
_NEEDS = {
    "pyarrow": ("the fleet commands need pyarrow", "fleet", ""),
    "deltalake": ("the fleet commands need deltalake", "fleet", ""),
    "pyspark": ("Spark is not installed", "spark", ", or use --driver local"),
    "jinja2": ("the report needs jinja2", "report", ", or use --no-report"),
}


def need(*modules: str) -> None:
    """MissingExtra where one of them is not installed."""
    for module in modules:
        if find_spec(module) is None:
            raise MissingExtra(*_NEEDS[module])
