"""The torn end of logs cut off."""
