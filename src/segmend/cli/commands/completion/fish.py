"""The completion for fish: one line for each command and option."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.cli.described import Argument, Described

_AT = r"""function __segmend_at
    set -l at
    for word in (commandline -opc)[2..-1]
        if contains -- "$at $word" $__segmend_commands
            set at "$at $word"
        end
    end
    test "$at" = "$argv[1]"
end"""


def script(root: Described) -> Iterator[str]:
    yield "# fish completion of segmend, made by `segmend completion fish`"
    known = (_quoted(_at(each)) for each in root.everything() if each.path)
    yield f"set -g __segmend_commands {' '.join(known)}"
    yield _AT
    for each in root.everything():
        begin = f"complete -c segmend -n {_quoted(f'__segmend_at {_quoted(_at(each))}')}"
        for command in each.commands:
            yield f"{begin} -f -a {command.path[-1]} -d {_quoted(command.summary)}"
        for operand in each.operands:
            if operand.choices:
                yield f"{begin} -f -a {_quoted(' '.join(operand.choices))}"
            if operand.offered:
                yield f"{begin} -a {_quoted(' '.join(operand.offered))}"
        for option in each.options:
            yield f"{begin} {_option(option)}"


def _at(command: Described) -> str:
    return "".join(f" {word}" for word in command.path)


def _option(option: Argument) -> str:
    names = [f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags]
    if option.choices:
        names.append(f"-x -a {_quoted(' '.join(option.choices))}")
    elif option.value is not None:
        names.append("-r" if option.takes_path else "-x")
    return f"{' '.join(names)} -d {_quoted(option.help)}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
