"""One vocabulary of damage: named faults, one file a family, for checks, forecasts, surgery and real brokers.

Each module with `FAULTS` is a family; `table.all_faults()` finds them. A row says how to hurt a `Patient`,
which codes then fire, what a start does, which mend helps, and after which stops real brokers were tried.
What it is hurt with are `hands` (bytes) and `on_disk` (files); drawn damage elsewhere is done with the same.
"""
