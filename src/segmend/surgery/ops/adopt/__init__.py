"""A directory brought back as TOPIC-N."""

HELP = "bring a -stray or -delete directory back as the partition it was"
