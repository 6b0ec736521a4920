"""Every on-disk format of Kafka 0.8 to 4.4: bytes <-> values, one file each, no I/O.

`parse(data)` gives `(value, damages)` and never raises on content; `render(value)` gives
the bytes back, identical for healthy input.
"""
