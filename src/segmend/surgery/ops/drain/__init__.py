"""A log dir emptied into the others."""

HELP = "move every partition of a log dir to the others"
