"""`segmend forecast`."""

HELP = "say what a broker will do to these files when it starts, before it does"
