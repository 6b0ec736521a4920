"""Room on a full disk, by the least harm first."""
