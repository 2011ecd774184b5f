"""`ludory completion`: a script that completes commands, options and ids in bash, zsh or fish."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from ludory import plugins
from ludory.arguments import Option, Positional, describe
from ludory.errors import LudoryError
from ludory.plugins import LISTED

from .common.parser import parse

JOBS_ONLY = ("bench", "pokemon", "spa")
"""Commands whose jobs import numba or torch: only the names of the jobs are completed."""
IDS_OF = {
    "game": "games",
    "env": "games",
    "agents": "agents",
    "partners": "agents",
    "others": "agents",
    "blueprint": "agents",
    "algorithm": "algorithms",
    "learner": "algorithms",
    "policy": "networks",
}
"""Which ids an option takes, by its field."""


@dataclass(frozen=True, kw_only=True)
class _Options:
    """Print a script that completes commands, options and ids. It knows what is installed when it is printed.

    bash: put eval "$(ludory completion bash)" into ~/.bashrc

    zsh: put eval "$(ludory completion zsh)" into ~/.zshrc

    fish: type ludory completion fish > ~/.config/fish/completions/ludory.fish

    Example: ludory completion bash
    """

    shell: Positional[Literal["bash", "zsh", "fish"]]
    """The shell."""


class Completions(NamedTuple):
    """What may follow the words of a command."""

    path: tuple[str, ...]
    """Such as ("league", "run")."""
    words: list[str]
    """Jobs, ids and options."""
    values: dict[str, list[str]]
    """What may follow an option."""


def run(argv: list[str]) -> int:
    """Print the script; returns the exit code."""
    shell = parse(_Options, argv, "completion").shell
    places = [Completions((), [*plugins.commands.ids(), "--help", "--version"], {})]
    for verb in plugins.commands.ids():
        places += _places(verb)
    print(_fish(places) if shell == "fish" else _bash(places, zsh=shell == "zsh"))
    return 0


def _places(verb: str) -> Iterator[Completions]:
    try:
        command: Any = plugins.commands.load(verb)
    except LudoryError:  # a plugin that is broken; `ludory doctor` names it
        return
    yield from _below(command.run, (verb,), [])
    for job in _jobs(verb):
        yield from _below(plugins.jobs.load(job).run, tuple(job.split("/")), [])


def _jobs(verb: str) -> list[str]:
    """Ids of the commands that a word behind a verb makes."""
    return [job for job in plugins.jobs.ids() if job.startswith(f"{verb}/")]


def _below(run: Callable[[list[str]], int], path: tuple[str, ...], argv: list[str]) -> Iterator[Completions]:
    """The place of a command, and those of its jobs."""
    found = describe(run, argv)
    words = [*found.jobs, *(job.partition("/")[2] for job in ([] if argv or len(path) > 1 else _jobs(path[0])))]
    values: dict[str, list[str]] = {}
    for option in found.options:
        if option.positional:
            words += [*_values(option), *option.names]
        else:
            words += option.names
            values |= {name: _values(option) for name in option.names if _values(option)}
    if found.options and "--config" not in words:
        words += ["--config", "--print-config"]
    yield Completions((*path, *argv), [*words, "--help"], values)
    for job in () if path[0] in JOBS_ONLY else found.jobs:
        yield from _below(run, path, [*argv, job])


def _values(option: Option) -> list[str]:
    if option.field in IDS_OF:
        return LISTED[IDS_OF[option.field]].ids()
    return list(option.choices)


def _bash(places: list[Completions], zsh: bool) -> str:
    """A function that looks the typed words up; zsh runs it, too."""
    paths = " ".join("/".join(("ludory", *place.path)) for place in places)
    rows = []
    for place in places:
        path = "/".join(("ludory", *place.path))
        rows += [f'        "{path} {name}") words="{" ".join(words)}" ;;' for name, words in place.values.items()]
    for place in places:
        rows.append(f'        "{"/".join(("ludory", *place.path))} "*) words="{" ".join(place.words)}" ;;')
    table = "\n".join(rows)
    start = "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n" if zsh else ""
    return f"""{start}_ludory() {{
    local path=ludory words="" k
    for ((k = 1; k < COMP_CWORD; k++)); do
        case " {paths} " in
        *" $path/${{COMP_WORDS[k]}} "*) path="$path/${{COMP_WORDS[k]}}" ;;
        esac
    done
    case "$path ${{COMP_WORDS[COMP_CWORD - 1]}}" in
{table}
    esac
    COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _ludory ludory"""


def _fish(places: list[Completions]) -> str:
    """One line for each word that may follow."""
    lines = [
        "function __ludory_at",
        "    set -l typed (commandline -opc | string match -v -- '-*')",
        "    for k in (seq (count $argv))",
        '        test "$typed[(math $k + 1)]" = "$argv[$k]"; or return 1',
        "    end",
        "end",
    ]
    for place in places:
        at = f"-n '{' '.join(('__ludory_at', *place.path))}'" if place.path else "-n __fish_use_subcommand"
        plain = [word for word in place.words if not word.startswith("-")]
        if plain:
            lines.append(f"complete -c ludory {at} -a '{' '.join(plain)}'")
        for word in place.words:
            if word.startswith("--"):
                values = f" -x -a '{' '.join(place.values[word])}'" if word in place.values else ""
                lines.append(f"complete -c ludory {at} -l {word[2:]}{values}")
    return "\n".join(lines)
