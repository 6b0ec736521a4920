"""Every operation of surgery on every golden release: the checks, an undo and that release's broker judge.

`bed.py` has a copy of a golden broker and the steps of one operation; `damages.py`, `leftovers.py`,
`places.py`, `names.py` and `composed.py` are the table of operations; `server.py` starts the broker;
`matrix.py` puts them together.
`python -m tests.surgery.shows GOLDEN [OPERATION...]` runs each operation alone and prints the table.
"""
