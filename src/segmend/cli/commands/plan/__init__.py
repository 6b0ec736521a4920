"""`segmend plan`."""

HELP = "plan surgery: what would be changed, kept and lost; nothing is touched"
