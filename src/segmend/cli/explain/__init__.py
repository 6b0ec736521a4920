"""The topics of `segmend explain`, one file each: `NAME`, `SUMMARY`, `OPTIONS`, `configure`, `run`.

The docstring of a module is the topic's page; `run(args, paths)` explains directories. `OPTIONS`
are the names of the arguments that only this topic takes.
"""
