"""Compacted logs drawn by a seed, what real cleaners did to them, and what is said of them."""
