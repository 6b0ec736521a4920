"""`segmend help`."""

HELP = "the options of a command, as `segmend COMMAND --help`"
