"""`segmend diff`."""

HELP = "compare the replicas of partitions by their files: who has what, who left, what nobody has"
