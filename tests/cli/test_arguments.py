"""Command lines as dataclasses: numbers, two names of one option, files of --config, and scripts that complete words."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from ludory.arguments import Arg, Repeated, help_page, read_arguments, whole_number
from ludory.cli import completion, main
from ludory.cli.common.options import Count, Flag, GameId, Maybe
from ludory.cli.common.parser import parse
from ludory.errors import OptionError
from ludory.plugins import commands

Capture = pytest.CaptureFixture[str]


@dataclass(frozen=True)
class Sample:
    """A command.

    Example: ludory sample a
    """

    names: Annotated[tuple[str, ...], Arg(positional=True, metavar="NAME...")]
    """Names."""
    game: GameId = "Hanabi2P-v0"
    """Id of a game."""
    option: Repeated[tuple[str, ...]] = ()
    """KEY=VALUE."""
    steps: int = 10
    """Steps."""
    budget: Count = 5
    """Budget."""
    rate: float = 0.1
    """Rate."""
    sizes: tuple[int, ...] = ()
    """Sizes."""
    kind: Literal["fast", "slow"] = "fast"
    """Kind."""
    limit: Maybe[int] = None
    """Limit."""
    quiet: Flag = False
    """Quiet."""
    fused: bool | None = None
    """Left to the program by default."""


def read(*words: str) -> Sample:
    return read_arguments(Sample, words, "ludory sample")


@pytest.mark.parametrize(
    ("text", "number"), [("5000", 5000), ("1e4", 10_000), ("5E6", 5_000_000), ("1_000", 1000), ("-3", -3)]
)
def test_whole_numbers_may_have_an_exponent(text: str, number: int) -> None:
    assert whole_number(text) == number
    assert read("a", f"--steps={text}").steps == read("a", "--steps", text).steps == number


@pytest.mark.parametrize("text", ["1e4.5", "1.5", "many", "", "inf", "nan", "1e400", "1e-3"])
def test_what_is_not_a_whole_number_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match=r"--steps .*must be a whole number"):
        read("a", f"--steps={text}")


def test_sizes_are_whole_numbers_too() -> None:
    assert read("a", "--sizes", "1e2", "64").sizes == (100, 64)


@dataclass(frozen=True)
class Inner:
    """A part."""

    rate: float = 0.5
    """Rate of the part."""


@dataclass(frozen=True)
class Outer:
    """Options with options inside."""

    part: Inner = field(default_factory=Inner)
    """Its fields are options, too."""
    roles: tuple[int, int, int] = (1, 1, 2)
    """Numbers."""
    weights: Mapping[str, float] = field(default_factory=dict)
    """Names and numbers."""
    seat: int | str = 0
    """A number or a name."""


def test_options_may_be_those_of_a_part_or_several_values() -> None:
    words = ["--rate", "0.25", "--roles", "2,0,1e2", "--weights", "a", "1", "b", "2e-1", "--seat", "3"]
    chosen = read_arguments(Outer, words, "ludory sample")
    assert chosen == Outer(Inner(0.25), (2, 0, 100), {"a": 1.0, "b": 0.2}, 3)
    assert read_arguments(Outer, ["--roles", "2", "0", "100", "--seat", "all"], "x", default=chosen).seat == "all"
    assert read_arguments(Outer, [], "x", default=chosen) == chosen


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--roles 1,2", "--roles 1 2: must be 3 values, such as 1,1,2"),
        ("--roles 1,2,x", "--roles x: must be a whole number"),
        ("--weights a", "--weights a: must be pairs of a name and a value"),
    ],
)
def test_several_values_are_checked(words: str, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        read_arguments(Outer, words.split(), "ludory sample")


def test_the_help_has_the_docstrings_of_parts_and_bases() -> None:
    page = help_page(Outer, "ludory sample")
    assert "--rate FLOAT               Rate of the part. (default: 0.5)" in page
    assert "--roles INT INT INT        Numbers. (default: 1 1 2)" in page
    assert "--seat INT|STR             A number" in page


def test_game_and_env_are_one_option() -> None:
    assert read("a", "--env", "X").game == read("a", "--game", "X").game == "X"


def test_benchmarks_take_both_names_of_a_game_too() -> None:
    @dataclass(frozen=True)
    class Measured:
        """A benchmark."""

        env: str = "Hanabi2P-v0"
        """Id of a game."""

    assert read_arguments(Measured, ["--game", "KuhnPoker-v0"], "ludory bench x").env == "KuhnPoker-v0"
    assert read_arguments(Measured, ["--env", "KuhnPoker-v0"], "ludory bench x").env == "KuhnPoker-v0"


def test_an_option_that_may_be_left_to_the_program_is_a_switch_too() -> None:
    assert [read("a", *words).fused for words in ([], ["--fused"], ["--no-fused"], ["--fused", "False"])] == [
        None,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("ending", ["yaml", "json", "toml"])
def test_a_file_says_what_was_not_typed(ending: str, tmp_path: Path) -> None:
    file = tmp_path / f"options.{ending}"
    if ending == "toml" and sys.version_info < (3, 11):
        pytest.skip("Python 3.10 has no tomllib")
    file.write_text(
        {
            "yaml": "names: [b, c]\nenv: X\nsteps: 1e3\nquiet: true\noption: {players: 3, bomb: keep}\nsizes: [1, 2]\n",
            "json": json.dumps({"names": ["b", "c"], "game": "X", "steps": "1e3", "quiet": True, "sizes": [1, 2]}
                               | {"option": {"players": 3, "bomb": "keep"}}),
            "toml": 'names = ["b", "c"]\ngame = "X"\nsteps = "1e3"\nquiet = true\nsizes = [1, 2]\n'
                    '[option]\nplayers = 3\nbomb = "keep"\n',
        }[ending]
    )  # fmt: skip
    found = read("--config", str(file))
    assert (found.names, found.game, found.steps, found.quiet, found.sizes) == (("b", "c"), "X", 1000, True, (1, 2))
    assert set(found.option) == {"players=3", "bomb=keep"}
    typed = read("a", "--config", str(file), "--steps", "5", "--option", "players=4", "--game", "Y")
    assert (typed.names, typed.game, typed.steps, set(typed.option)) == (("a",), "Y", 5, {"players=4", "bomb=keep"})


@pytest.mark.parametrize(
    "words",
    [
        "a",
        "a b --env X --steps 1e3 --quiet --option players=3 --option rate=0.5 --sizes 1 2 --budget 2,000 --no-fused",
        "a --rate 3e-4 --kind slow --limit 3 --fused",
    ],
)
def test_a_printed_configuration_is_read_back_to_the_same_options(words: str, tmp_path: Path, capsys: Capture) -> None:
    with pytest.raises(SystemExit) as stop:
        read(*words.split(), "--print-config")
    assert stop.value.code == 0
    file = tmp_path / "options.yaml"
    file.write_text(capsys.readouterr().out)
    assert read("--config", str(file)) == read(*words.split())


@pytest.mark.parametrize(
    "words",
    [
        "train ppo --game HanabiTiny2P-v0 --timesteps 1e4 --n-steps 16 --hidden 32 32 --no-compiled",
        "league run --env Arena2P-v0 --teacher x --budget 5e6 --out lg -- --n-steps 3 --no-compile",
        "watch --env HanabiTiny2P-v0 random --seat 1",
        "texas42 bid --hand 6-4,5-5,4-2,3-1,2-0,1-1,0-0 --decl sixes",
    ],
)
def test_commands_print_a_configuration_that_they_take(words: str, tmp_path: Path, capsys: Capture) -> None:
    typed, dashes, behind = words.partition(" -- ")
    main([*typed.split(), "--print-config", *(["--", *behind.split()] if dashes else [])])
    first = capsys.readouterr().out
    file = tmp_path / "options.yaml"
    file.write_text(first)
    verb = typed.split()[: 2 if typed.split()[0] in ("league", "texas42") else 1]
    assert main([*verb, "--config", str(file), "--print-config"]) == 0
    assert capsys.readouterr().out == first != ""


@pytest.mark.parametrize("words", ["train bc", "spa sft", "texas42 bid", "play", "record", "sweep", "bench cores"])
def test_a_help_page_reads_alike_everywhere(words: str, capsys: Capture) -> None:
    with suppress(SystemExit):
        main([*words.split(), "--help"])
    page = capsys.readouterr().out
    assert page.count("--config FILE reads options from a file") == 1
    assert "--print-config" in page
    assert "default: None" not in " ".join(page.split())
    assert "--env, --game" not in page
    rows = [line for line in page.splitlines() if line.startswith("  --")]
    assert len(rows) > 3
    assert all(len(line) <= 80 for line in page.splitlines())


def test_a_flag_that_is_on_can_be_read_both_ways(capsys: Capture) -> None:
    with suppress(SystemExit):
        main(["spa", "generate", "--help"])
    assert "--dedup, --no-dedup" in capsys.readouterr().out


def test_a_printed_configuration_has_an_option_a_line(capsys: Capture) -> None:
    main(["eval", "random", "--game", "KuhnPoker-v0", "--option", "x=1", "--print-config"])
    lines = capsys.readouterr().out.splitlines()
    assert {"agents: [random]", "game: KuhnPoker-v0", "games: 1000", "option: {x: 1}"} <= set(lines)
    with suppress(SystemExit):
        read("a", "--print-config")
    assert "steps: 10" in capsys.readouterr().out.splitlines()


def test_none_may_be_typed_where_an_option_may_be_none() -> None:
    @dataclass(frozen=True)
    class Learning:
        """Options of a learner."""

        target: float | None = 0.5
        """A number."""
        teacher: str | None = "a"
        """A name."""

    for word in ("none", "None"):
        chosen = read_arguments(Learning, ["--target", word, "--teacher", word], "ludory train x")
        assert (chosen.target, chosen.teacher) == (None, None)
    assert parse(Leaving, ["--limit", "none"], "leave").limit is None


@dataclass(frozen=True)
class Leaving:
    """A command."""

    limit: Maybe[int] = None
    """Limit."""


def places() -> list[Any]:
    return [place for verb in commands.ids() for place in completion._places(verb)]


def test_every_command_has_options_to_complete() -> None:
    assert {place.path[0] for place in places()} == set(commands.ids())
    assert all("--help" in place.words for place in places())
    words = next(place for place in places() if place.path == ("train",))
    assert "ppo-v1" in words.words
    assert "Hanabi2P-v0" in words.values["--env"]
    assert words.values["--env"] == words.values["--game"]
    assert {"--config", "--print-config"} <= set(words.words)
    assert {"--game", "--env"} <= set(next(place for place in places() if place.path == ("watch",)).words)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_printed_without_loading_torch(shell: str) -> None:
    code = f"""
import sys
from ludory.cli import main
assert main(["completion", {shell!r}]) == 0
print([name for name in ("torch", "numba", "numpy") if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"
    assert "Hanabi2P-v0" in done.stdout


def test_bash_completes_commands_options_and_ids(capsys: Capture) -> None:
    assert main(["completion", "bash"]) == 0
    script = (
        capsys.readouterr().out
        + """
complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _ludory; echo "${COMPREPLY[*]}"; }
complete_words ludory pla
complete_words ludory train ppo --env HanabiVerySmall2
complete_words ludory flywheel run --learner-o
complete_words ludory texas42 bid --mode ma
"""
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["play", "HanabiVerySmall2P-v0", "--learner-option", "mapped"]
