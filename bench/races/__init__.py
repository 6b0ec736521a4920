"""One race a module, discovered: `run(scale)` makes its data, times the contenders, prints its table."""
