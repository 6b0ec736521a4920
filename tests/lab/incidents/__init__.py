"""Stories of one node: it runs, is killed, copied, restored, closed, loses a disk; then it starts again."""
