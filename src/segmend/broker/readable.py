"""Which releases can read what younger ones have written."""

from __future__ import annotations

from typing import Final

MAGIC_SINCE: Final = {1: (0, 10), 2: (0, 11)}
"""`RecordBatch`, by magic: KIP-32, KIP-98."""
CODEC_SINCE: Final = {4: (2, 1)}
"""`CompressionType`, by id: KIP-110."""
HORIZON_SINCE: Final = (3, 1)
"""`DefaultRecordBatch.deleteHorizonMs`; KIP-534."""
QUORUM_VERSION_SINCE: Final = (3, 9)
"""`FileQuorumStateStore`, version 1: KIP-853."""
