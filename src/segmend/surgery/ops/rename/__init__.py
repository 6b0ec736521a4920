"""Partitions under the name of another topic."""

HELP = "give partitions, or copies of them, to another topic (restore under another name, clone)"
