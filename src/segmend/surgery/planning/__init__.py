"""What operations share while they make a plan, and the log dirs as a plan will leave them."""
