"""Disks made about equally full: the search for what moves, and by how much logs grow."""
