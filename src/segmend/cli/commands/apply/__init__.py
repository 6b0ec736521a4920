"""`segmend apply`."""

HELP = "carry out a plan; the same command again goes on where it was stopped"
