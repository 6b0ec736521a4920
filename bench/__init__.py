"""Benchmarks: segmend against the physical limit and its peers, in one run, as one table."""
