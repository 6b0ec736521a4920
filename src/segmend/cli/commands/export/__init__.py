"""`segmend export`."""

HELP = "add the records that are new to a Delta table, or a live cluster, run after run, each of them once"
