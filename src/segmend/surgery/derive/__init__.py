"""What derived files are computed from: segments, batches, producers, and the order a broker writes in."""
