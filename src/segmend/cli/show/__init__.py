"""`segmend show`, by what stands at the path: log dirs, a partition directory, a file."""
