"""The hot scan of `.log` files and the decoding of records: C beside a plain reference.

`scan.scan_log` walks a file once and says everything about it; `arrow` gives its records
and batches as columns. No module here opens a file: bytes come through a `types.Reader`.
"""
