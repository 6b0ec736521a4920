"""`segmend man`."""

HELP = "print the manual of all commands, for `man -l`"
