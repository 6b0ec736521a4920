"""How long a start takes: what each thing costs, and the sum of it."""
