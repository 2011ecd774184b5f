"""`ludory play` and `ludory watch`."""

from __future__ import annotations

import io
import shlex
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ludory.cli import main
from ludory.cli.common.options import seat_names
from ludory.cli.games import play, watch
from ludory.data.replay import frames, read_replay
from ludory.envs.make import make_game
from ludory.envs.pictures import plain
from ludory.errors import LudoryError, OptionError, OutputError, ReplayError, UnknownIdError

TINY = "HanabiTiny2P-v0"
Type = Callable[..., None]


@pytest.fixture
def type_lines(monkeypatch: pytest.MonkeyPatch) -> Type:
    """Types the given lines at the prompts, the last one again and again."""

    def prepare(*lines: str) -> None:
        monkeypatch.setattr("sys.stdin", io.StringIO("\n".join([*lines, *lines[-1:] * 50])))

    return prepare


def recorded(folder: Path) -> str:
    file = str(folder / "game.json")
    assert watch.run([TINY, "random(seed=1)", "--seed", "3", "--replay", file]) == 0
    return file


# --- play ---


def test_a_person_plays_a_game_to_its_end(type_lines: Type, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    type_lines("play 1")
    file = tmp_path / "game.json"
    assert play.run([TINY, "--with", "random(seed=2)", "--seed", "3", "--replay", str(file)]) == 0
    shown, replay = capsys.readouterr().out, read_replay(file)
    assert "HanabiTiny2P-v0, seed 3\nSeats: 0 you, 1 random(seed=2)" in shown
    assert shown.count("> seat 0 you") == sum(move.seat == 0 for move in replay.moves)
    assert replay.agents == ("human", "random(seed=2)")
    assert replay.finished
    assert f"Finished after {len(replay.moves)} moves, return {replay.returns[0]:g}." in shown
    assert str(file) in shown.splitlines()[-1]


def test_leaving_keeps_the_replay(type_lines: Type, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    type_lines("play 1", "q")
    file = tmp_path / "game.json"
    assert play.run([TINY, "--with", "random(seed=2)", "--seed", "3", "--seat", "1", "--replay", str(file)]) == 0
    replay = read_replay(file)
    assert "Left after 3 moves" in capsys.readouterr().out
    assert ([move.seat for move in replay.moves], replay.finished) == ([0, 1, 0], False)


def test_control_c_keeps_the_replay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Interrupted(io.StringIO):
        def readline(self, size: int | None = -1, /) -> str:
            raise KeyboardInterrupt

    monkeypatch.setattr("sys.stdin", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        play.run([TINY, "--with", "random", "--seat", "1", "--replay", str(tmp_path / "game.json")])
    assert len(read_replay(tmp_path / "game.json").moves) == 1


def test_hanabi_is_played_with_a_hanabi_bot(type_lines: Type, capsys: pytest.CaptureFixture[str]) -> None:
    type_lines("q")
    assert play.run([TINY]) == 0
    assert "0 you, 1 hanabi/iggi" in capsys.readouterr().out


def test_a_person_is_never_shown_the_own_cards_while_the_game_runs(
    type_lines: Type, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    type_lines("play 1")
    file = tmp_path / "game.json"
    play.run([TINY, "--with", "random(seed=2)", "--seed", "3", "--replay", str(file)])
    shown, game = capsys.readouterr().out.split("All cards face up:")[0], make_game(TINY)
    assert game.look.text is not None
    for engine in frames(read_replay(file)):
        if engine.to_move[0] == 0:
            assert plain(game.look.text(engine.state, 0, 0)) in shown
        assert plain(game.look.text(engine.state, 0, None)) not in shown


@pytest.mark.parametrize(
    ("seat", "partners", "names"),
    [
        (0, ["a"], ["human", "a", "a"]),
        (1, ["a"], ["a", "human", "a"]),
        (1, ["a", "b"], ["a", "human", "b"]),
        (2, ["a", "b"], ["a", "b", "human"]),
    ],
)
def test_partners_take_the_seats_in_order(seat: int, partners: list[str], names: list[str]) -> None:
    assert seat_names(3, partners, human=seat) == names


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--seat", "2"], "--seat 2: this game has the seats 0 to 1"),
        (["--with", "random", "random"], "--with names 2 agents, but 1 seat is free"),
        (["--option", "players"], "must be KEY=VALUE"),
        (["--option", "players=3"], "fixes"),
    ],
)
def test_wrong_arguments_of_play_are_explained(arguments: list[str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        play.run([TINY, *arguments])


# --- watch ---


def test_a_game_is_shown_move_by_move(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    replay = read_replay(recorded(tmp_path))
    shown, game = capsys.readouterr().out, make_game(TINY)
    assert game.look.text is not None
    pictures = [plain(game.look.text(engine.state, 0, None)) for engine in frames(replay)]
    places = [shown.find(picture) for picture in pictures]
    assert -1 not in places
    assert places == sorted(places)
    assert "\x1b" not in shown
    assert f"seed 3. Finished after {len(replay.moves)} moves" in shown


def test_a_replay_looks_like_the_game_it_recorded(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = recorded(tmp_path)
    first = capsys.readouterr().out
    assert watch.run([file]) == 0
    assert first.startswith(capsys.readouterr().out.rstrip())


def test_one_seat_can_be_watched(capsys: pytest.CaptureFixture[str]) -> None:
    watch.run([TINY, "random(seed=1)", "--seed", "3", "--seat", "1"])
    shown = capsys.readouterr().out
    assert "seat 1 you" in shown
    assert "seat 0 +1" in shown


def test_html_and_svg_are_written_and_named_last(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file, html, svg = recorded(tmp_path), tmp_path / "new" / "game.html", tmp_path / "game.svg"
    capsys.readouterr()
    assert watch.run([file, "--html", str(html), "--svg", str(svg), "--move", "2", "--seat", "0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert (str(svg) in lines[-2], str(html) in lines[-1]) == (True, True)
    assert html.read_text(encoding="utf-8").startswith("<!doctype html>")
    picture = ElementTree.fromstring(svg.read_text(encoding="utf-8"))
    assert "move 2" in "".join(picture.itertext())
    assert "as seat 0 sees it" in "".join(picture.itertext())


def test_one_agent_plays_all_seats() -> None:
    assert seat_names(3, ["a"]) == ["a", "a", "a"]
    assert seat_names(3, ["a", "b", "c"]) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ([TINY], OptionError, "got 0 agents for 2 seats"),
        ([TINY, "random", "random", "random"], OptionError, "got 3 agents for 2 seats"),
        ([TINY, "random", "--seat", "2"], OptionError, "must be all or 0 to 1"),
        ([TINY, "random", "--svg", "x.svg", "--move", "999"], OptionError, "has the positions 0 to"),
        (["NoGame", "random"], UnknownIdError, "NoGame"),
        (["none.json"], ReplayError, "cannot be read as a replay"),
    ],
)
def test_wrong_arguments_of_watch_are_explained(
    arguments: list[str], error: type[Exception], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        watch.run(arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_replay_takes_no_agents_seed_or_options(tmp_path: Path) -> None:
    file = recorded(tmp_path)
    for extra in (["random"], ["--seed", "1"], ["--option", "players=3"]):
        with pytest.raises(OptionError, match="is recorded: it already has its agents, seed and options"):
            watch.run([file, *extra])


def test_an_unwritable_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write"):
        watch.run([TINY, "random", "--html", str(tmp_path / "file" / "game.html")])


def test_the_seat_is_all_or_a_number() -> None:
    with pytest.raises(LudoryError, match="--seat first: must be all or the number of a seat"):
        watch.run([TINY, "random", "--seat", "first"])


def test_analyse_names_the_command_that_tells_more(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyse", "TicTacToe-v0", "--moves", "0 8 1 7", "--rollouts", "100"]) == 0
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first.startswith("TicTacToe-v0, seed 0: ")
    words = shlex.split(last.removeprefix("More on one of them: "))
    assert words == ["ludory", "analyse", "TicTacToe-v0", "--seed", "0", "--moves", "0 8 1 7", "--move", "3"]
