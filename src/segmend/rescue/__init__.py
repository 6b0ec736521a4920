"""The merge of many replicas written out again: clean log dirs, or tables of records.

`merge` chooses, here what it chose is read and written. Nothing in a source is changed; what is written
goes through the effects of surgery, so that a test can end it at any call.
"""
