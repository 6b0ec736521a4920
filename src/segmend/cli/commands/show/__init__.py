"""`segmend show`."""

HELP = "show what is on a disk: partitions, segments, batches, records, indexes, checkpoints"
