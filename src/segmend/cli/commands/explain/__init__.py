"""`segmend explain`."""

HELP = "the manual page of a finding or a topic; why a start takes long, why a segment stays"
