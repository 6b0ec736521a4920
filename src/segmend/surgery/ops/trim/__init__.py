"""The torn end of logs cut off."""

HELP = "cut off the torn end of logs, keeping every whole batch"
