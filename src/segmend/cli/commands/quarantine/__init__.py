"""`segmend quarantine`."""

HELP = "list what was set aside, bring it back, or give it up for good"
