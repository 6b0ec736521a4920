"""`segmend rescue`."""

HELP = "merge damaged replicas and write what is left of their records: a clean log dir, or tables"
