"""The completion for zsh: one `_arguments` for each command."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.cli.described import Argument, Described


def script(root: Described) -> Iterator[str]:
    yield "#compdef segmend"
    yield "# zsh completion of segmend, made by `segmend completion zsh`"
    for each in root.everything():
        yield from _function(each)
    yield '_segmend "$@"'


def _function(command: Described) -> Iterator[str]:
    yield f"{_name(command)}() {{"
    specs = [_option(each) for each in command.options]
    if command.commands:
        yield "    local line state"
        specs += ["'1: :->command'", "'*:: :->rest'"]
    else:
        specs += [_quoted(f"*:{_plain(each.value or '')}:{_values(each)}") for each in command.operands]
    yield f"    _arguments {'-C ' if command.commands else ''}\\"
    yield " \\\n".join(f"        {spec}" for spec in specs)
    if command.commands:
        yield "    case $state in"
        yield "        command)"
        yield f"            local -a commands=({' '.join(_described(each) for each in command.commands)})"
        yield "            _describe command commands ;;"
        yield "        rest)"
        yield "            case $line[1] in"
        for each in command.commands:
            yield f"                {each.path[-1]}) {_name(each)} ;;"
        yield "            esac ;;"
        yield "    esac"
    yield "}"


def _name(command: Described) -> str:
    return "_".join(["_segmend", *command.path])


def _option(option: Argument) -> str:
    flags = option.flags
    value = "" if option.value is None else f":{_plain(option.value)}:{_values(option)}"
    told = _quoted(f"[{_plain(option.help)}]{value}")
    return f"{flags[0]}{told}" if len(flags) == 1 else f"{{{','.join(flags)}}}{told}"


def _values(argument: Argument) -> str:
    if argument.choices:
        return f"({' '.join(argument.choices)})"
    if argument.offered:
        return f"{{compadd {' '.join(argument.offered)}; _files}}"
    return "_files" if argument.takes_path else " "


def _described(command: Described) -> str:
    return _quoted(f"{command.path[-1]}:{_plain(command.summary)}")


def _plain(text: str) -> str:
    """Without what has a meaning in a specification."""
    return "".join(f"\\{letter}" if letter in "[]:\\" else letter for letter in text)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
