"""`ludory.show`: a game in a notebook, as a widget and without one."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from games.external import tic_tac_toe

import ludory
from ludory.data.replay import Replay, write_replay
from ludory.errors import OptionError, PluginError, ReplayError
from ludory.web import ShownGame

pytestmark = pytest.mark.plain


def shown(game: str = "TicTacToe-v0", **arguments: object) -> ShownGame:
    made = ludory.show(game, **{"others": "random", "seed": 1, **arguments})
    assert isinstance(made, ShownGame)
    return made


def test_a_game_is_played_to_its_end_and_is_a_replay() -> None:
    game = shown()
    assert game.legal[0][4] == "b2"
    assert game.play("b2") is game
    assert 4 not in game.legal[0]
    while not game.over:
        game.play(next(iter(game.legal[0])))
    assert game.legal == []
    assert game.replay.finished
    assert game.replay.agents == ("human", "random")
    assert game.replay.moves[0] == (0, 4)
    with pytest.raises(OptionError, match="the game is over"):
        game.play(0)


def test_the_same_seed_and_moves_are_the_same_game() -> None:
    first, second = shown("HanabiTiny2P-v0"), shown("HanabiTiny2P-v0")
    for _ in range(2):
        action = next(iter(first.legal[0]))
        assert first.play(action).board() == second.play(action).board()


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ((9,), r"9 is not legal now; legal: 0 \(a1\)"),
        (("d9",), "'d9' is not legal"),
        ((1, 2), "got 2 values, must be 1"),
    ],
)
def test_a_wrong_move_changes_nothing(action: tuple[object, ...], words: str) -> None:
    game = shown()
    with pytest.raises(OptionError, match=words):
        game.play(*action)  # type: ignore[arg-type]
    assert game.replay.moves == ()


def test_hidden_cards_stay_hidden_until_the_end() -> None:
    game = shown("KuhnPoker-v0")
    hidden = game.board()["picture"]
    assert "views" in game.html()
    assert '"views":["seat 0 (human)"]' in game.html()
    while not game.over:
        game.play(next(iter(game.legal[0])))
    assert game.board()["picture"] != hidden
    assert '"views":["everything"]' in game.html()


def test_messages_of_the_widget_play_and_look_back() -> None:
    game = shown()
    game.obey({"do": "play", "action": [4]})
    board = game.board()
    assert (board["at"], board["last"]) == (2, 2)
    assert 'data-action="0:' in board["picture"]
    game.obey({"do": "go", "to": 1})
    board = game.board()
    assert board["at"] == 1
    assert board["heads"] == []
    assert "data-action" not in board["picture"]
    game.obey({"do": "play", "action": [4]})
    assert "not legal" in game.board()["problem"]
    game.obey({"do": "new"})
    assert game.board()["last"] == 0
    assert game.board()["problem"] == ""


def test_agents_play_alone_one_move_at_a_time() -> None:
    game = shown(seat=None)
    assert game.board()["waits"]
    assert game.next().replay.moves != ()
    with pytest.raises(OptionError, match="no seat is yours"):
        game.play(0)


def test_all_move_at_once() -> None:
    game = shown("Arena2P-v0")
    before = len(game.replay.moves)
    game.play(*(next(iter(head)) for head in game.legal))
    assert len(game.replay.moves) == before + 1
    assert len(game.board()["heads"]) == len(game.game.facts.heads)


def test_what_can_be_shown(tmp_path: Path) -> None:
    replay = ludory.watch("random", "TicTacToe-v0", seed=3)
    assert ludory.show(replay) is replay
    write_replay(tmp_path / "game.json", replay)
    for file in (tmp_path / "game.json", str(tmp_path / "game.json")):
        read = ludory.show(file)
        assert isinstance(read, Replay)
        assert read.moves == replay.moves
    with pytest.raises(ReplayError):
        ludory.show("missing.json")
    for what in (
        tic_tac_toe(),
        ludory.make_engine("TicTacToe-v0", 3),
        __import__("gymnasium").make("TicTacToe-v0", others="random"),
    ):
        game = ludory.show(what, "random", seed=1)
        assert isinstance(game, ShownGame)
        assert "svg" in game.board()["picture"]
    with pytest.raises(OptionError, match="got 3 agents for 1 seats"):
        shown(others=["random"] * 3)
    with pytest.raises(OptionError, match="seat=7: must be None or 0 to 1"):
        shown(seat=7)


def test_without_anywidget_it_is_a_page_with_the_legal_moves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ludory.web.notebook.find_spec", lambda name: None)
    bundle = shown()._repr_mimebundle_()
    assert bundle["text/html"].startswith("<iframe")
    assert "legal square: 0 a1, 1 b1" in bundle["text/html"]
    assert "pip install &quot;ludory[notebook]&quot;" in bundle["text/html"]
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(PluginError, match=r'type: pip install "ludory\[notebook\]"'):
        _ = shown().widget
    assert bundle["text/plain"] == "<ShownGame of TicTacToe-v0, seed 1: 0 moves. Your turn.>"


def test_the_widget_follows_the_game() -> None:
    pytest.importorskip("anywidget", reason="the extra notebook is not installed")
    game = shown()
    bundle = game._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in (bundle[0] if isinstance(bundle, tuple) else bundle)
    game.play("b2")
    assert game.widget.board["last"] == 2
    game.widget._handle_custom_msg({"do": "go", "to": 0}, [])
    assert game.widget.board["at"] == 0
