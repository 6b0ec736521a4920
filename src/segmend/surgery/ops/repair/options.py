"""What `plan repair` may be asked."""

from __future__ import annotations

from segmend.frozen import frozen
from segmend.surgery.options import flag, option
from segmend.surgery.planning import accepted_loss, amounts


@frozen
class Options:
    """What `plan repair` may be asked."""

    deep: bool = flag("look at every CRC and every record")
    from_: tuple[str, ...] = option(
        "take damaged batches from this replica (its partition directory, or log dir), several times for "
        "several: each batch from one that has it sound; implies --deep",
        "DIR",
        default=(),
    )
    blank: bool = flag("make damaged batches empty ones, their records given up; implies --deep")
    accept_loss: int | None = option("how many records --blank gives up", "N-records", accepted_loss.records)
    index_interval: int | None = option(
        "index.interval.bytes (default: as the cluster's metadata or the sound indexes say)",
        "BYTES",
        amounts.plain_bytes,
    )

    @property
    def mends_batches(self) -> bool:
        return self.blank or bool(self.from_)

    @property
    def is_deep(self) -> bool:
        """Whether every CRC and every record is looked at."""
        return self.deep or self.mends_batches
