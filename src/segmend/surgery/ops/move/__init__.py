"""Partitions moved between the log dirs of a broker."""
