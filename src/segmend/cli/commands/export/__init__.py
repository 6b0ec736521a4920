"""`segmend export`."""

HELP = "add the records that are new to a Delta table, run after run, each of them once"
