"""segmend: fsck, forecast, surgery and rescue for Apache Kafka log directories."""

from __future__ import annotations

__version__ = "0.1.0"
