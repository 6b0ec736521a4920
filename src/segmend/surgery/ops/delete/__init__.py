"""Partitions deleted: their directories set aside, with their checkpoint lines."""

HELP = "take partitions off the disk, into the quarantine, with their checkpoint lines"
