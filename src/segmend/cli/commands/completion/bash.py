"""The completion for bash: a function that finds the command, and says what may follow."""

from __future__ import annotations

from collections.abc import Iterator

from segmend.cli.described import Described

_HEAD = r"""# bash completion of segmend, made by `segmend completion bash`
_segmend() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} at= i
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$at ${COMP_WORDS[i]}" in"""
_MIDDLE = r"""        esac
    done
    case "$at $prev" in"""
_BELOW = r"""    esac
    case "$at" in"""
_TAIL = r"""    esac
}
complete -o bashdefault -o default -F _segmend segmend"""


def script(root: Described) -> Iterator[str]:
    """Its lines. Where it offers nothing, bash offers paths."""
    every = list(root.everything())
    yield _HEAD
    yield f"            {_either(''.join(f' {w}' for w in each.path) for each in every if each.path)}"
    yield '                at="$at ${COMP_WORDS[i]}" ;;'
    yield _MIDDLE
    for each in every:
        at = "".join(f" {word}" for word in each.path)
        for option in each.options:
            if option.value is not None:
                flags = _either(f"{at} {flag}" for flag in option.flags)
                yield f"        {flags} {_offer(option.choices)}return ;;"
    yield _BELOW
    for each in every:
        at = "".join(f" {word}" for word in each.path)
        words = [command.path[-1] for command in each.commands]
        words += [word for operand in each.operands for word in (*operand.choices, *operand.offered)]
        options = [flag for option in each.options for flag in option.flags]
        yield f'        "{at}")'
        yield f"            [[ $cur == -* ]] && {{ {_offer(options)}return; }}"
        yield f"            {_offer(words)};;"
    yield _TAIL


def _either(patterns: Iterator[str]) -> str:
    return "|".join(f'"{pattern}"' for pattern in patterns) + ")"


def _offer(words: list[str] | tuple[str, ...]) -> str:
    return f"""COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$cur")); """ if words else ""
