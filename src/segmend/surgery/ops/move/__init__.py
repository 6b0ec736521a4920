"""Partitions moved between the log dirs of a broker."""

HELP = "move partitions to another log dir of the same broker, checkpoint lines included"
