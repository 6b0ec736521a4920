"""`segmend journal`."""

HELP = "list what was applied, and what became of it"
