"""`segmend undo`."""

HELP = "take back what was applied, wholly or as far as it got"
