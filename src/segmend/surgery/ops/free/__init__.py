"""Room on a full disk, by the least harm first."""

HELP = "make room on a full disk: what would go anyway first, what is served never"
