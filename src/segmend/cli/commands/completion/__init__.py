"""`segmend completion`."""

HELP = "print the completion of commands and options for bash, zsh or fish"
