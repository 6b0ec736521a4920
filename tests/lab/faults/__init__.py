"""Named faults: what can be wrong with the files of a stopped broker, one file a family.

Each module but `table` and `patient` has `FAULTS`, rows of the fault catalogue put into practice.
`table.all_faults()` finds them.
"""
