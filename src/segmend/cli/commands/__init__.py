"""The commands, one room each; `cli.registry` finds them.

`commands/NAME/__init__.py` has the `HELP` line and imports nothing, so that the list of commands costs
nothing; `commands/NAME/command.py` has `configure(parser)`, `run(args) -> int`, and perhaps `EXAMPLES`,
which stand below its `--help`. Only the command that runs is imported.
"""
