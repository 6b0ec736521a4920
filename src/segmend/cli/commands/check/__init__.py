"""`segmend check`."""

HELP = "say what is wrong with a log directory, and what the broker will do about it"
