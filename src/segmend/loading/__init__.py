"""What a broker will do to its log dirs when it starts: its load computed, without touching a file.

`forecast(broker, ...)` follows the rules of `segmend.broker` step by step, as `LogManager.loadLogs`
and `LogLoader.load` take them, over a model of the directory that can be changed in memory.
"""

from __future__ import annotations

from segmend.loading.any_release import forecast_any
from segmend.loading.prelude import ForecastOptions
from segmend.loading.run import Forecast, forecast
from segmend.loading.values import (
    EFFECTS,
    BrokerOutcome,
    DirectoryOutcome,
    DirOutcome,
    Effect,
    Extent,
    Later,
    Losses,
    PartitionOutcome,
    Service,
)

__all__ = [
    "EFFECTS",
    "BrokerOutcome",
    "DirOutcome",
    "DirectoryOutcome",
    "Effect",
    "Extent",
    "Forecast",
    "ForecastOptions",
    "Later",
    "Losses",
    "PartitionOutcome",
    "Service",
    "forecast",
    "forecast_any",
]
