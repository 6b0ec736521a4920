"""A time on the command line."""

from __future__ import annotations

import argparse

from segmend.explain.timestamp_units import stated_ms


def moment(value: str) -> int:
    """Milliseconds since 1970, for argparse."""
    try:
        return stated_ms(value)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
