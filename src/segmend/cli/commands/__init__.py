"""One file a command: `NAME`, `HELP`, `configure(parser)`, `run(args) -> int`; `cli.main` finds them.

`EXAMPLES`, where a command has it, is shown below its `--help`. A module is named as its
command is, so that only the module of the command that runs is imported.
"""
