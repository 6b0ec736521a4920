"""The command line: arguments in, exit code out. One file a command in `commands/`."""
