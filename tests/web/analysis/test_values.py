"""Values of moves, judged games and beliefs, without a server."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import ludory
from ludory.agents.analysis import key_at
from ludory.agents.analysis.positions import parse_moves, position_at, positions, replay_of_moves, variation
from ludory.agents.analysis.values import MoveSearch, PairedMoments
from ludory.agents.make import make_agent
from ludory.agents.random import RandomAgent
from ludory.cli import main
from ludory.data.replay import Replay, record_replay, write_replay
from ludory.envs.make import make_game
from ludory.errors import OptionError
from ludory.web.analysis.board import read_variation, study_board, tried
from ludory.web.analysis.pieces import PositionQuestion, ReviewQuestion, judge_more, refine_position
from ludory.web.analysis.report import PositionAnalysis
from ludory.web.analysis.review import JudgedMove, analyst_for, mistakes, review

HANABI, IGGI = "Hanabi2P-v0", "hanabi/iggi"


@pytest.fixture(scope="module")
def hanabi() -> Replay:
    return record_replay(HANABI, [make_agent(IGGI, HANABI)] * 2, seed=3)


def search_at(replay: Replay, number: int) -> MoveSearch:
    """A search at a position, by the game's own analyst."""
    game = make_game(replay.game, **replay.options)
    analyst = analyst_for(game)
    for position in positions(replay, game):
        if position.number == number:
            return analyst.search(position, key_at(position, 0))
        analyst.follow(position)
    raise AssertionError


def lost_five(replay: Replay) -> tuple[Replay, int]:
    """The game up to a move that throws a five away, and the number of that move."""
    for position in positions(replay):
        seat = position.to_move
        if seat is None or not position.number > 10:
            continue
        hand = position.engine.state.hands[0, seat].tolist()
        discards = [int(action) for action in position.legal(seat) if position.name(action).startswith("discard")]
        fives = [slot for slot, card in enumerate(hand) if card % 5 == 4]
        if fives and discards:
            return variation(replay, position.number, [discards[fives[0]]]), position.number
    raise AssertionError


@pytest.mark.slow
def test_the_worst_move_of_a_lost_hanabi_game_is_named() -> None:
    bots = [make_agent("hanabi/smartbot", HANABI)] * 2
    lost, number = lost_five(record_replay(HANABI, bots, seed=3))
    judged = list(review(lost, rollouts=400, first=number - 8))
    assert len(judged) == 9
    worst = mistakes(judged)[0]
    assert worst.number == number
    assert worst.told().startswith(f"-{worst.loss:.2g} points: seat {worst.seat} discarded")
    assert ", the last " in worst.words
    assert worst.words.endswith(" 5")
    assert worst.loss > 3 * worst.loss_stderr


@pytest.mark.slow
def test_games_of_one_rule_bot_are_judged_by_its_own_conventions(hanabi: Replay) -> None:
    report = PositionAnalysis(hanabi, 20, asked={}).run(200)
    assert report["values"]["method"].startswith(IGGI)
    people = replace(hanabi, agents=("human", IGGI))
    assert PositionAnalysis(people, 20, asked={}).run(200)["values"]["method"].startswith("hanabi/smartbot")


@pytest.mark.slow
def test_page_and_command_line_print_the_same(
    hanabi: Replay, tmp_path: object, capsys: pytest.CaptureFixture[str]
) -> None:
    file = f"{tmp_path}/game.json"
    write_replay(file, hanabi)
    assert main(["analyse", file, "--move", "20", "--rollouts", "2000", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    question, answer = PositionQuestion(hanabi, 20, rollouts=2000), None
    while answer is None or not answer.done:
        answer = refine_position(question, 0 if answer is None else answer.rounds)
    assert json.loads(json.dumps(answer.report)) == printed
    assert len(printed["values"]["moves"]) == len(position_at(hanabi, 20).legal(printed["seat"]))
    assert [move["played"] for move in printed["values"]["moves"]].count(True) == 1

    opening = variation(hanabi, 12, [])
    write_replay(file, opening)
    assert main(["analyse", file, "--rollouts", "40", "--json"]) == 0
    decisions = json.loads(capsys.readouterr().out)["decisions"]
    judged, done = tuple[JudgedMove, ...](), False
    while not done:
        first = judged[-1].number + 1 if judged else 0
        more, done = judge_more(ReviewQuestion(opening, rollouts=40), first)
        judged += more
    assert [one["value"] for one in decisions] == [one.value for one in judged]
    assert len(decisions) == 12


@pytest.mark.slow
def test_slices_do_not_change_values(hanabi: Replay) -> None:
    whole, cut = search_at(hanabi, 20), search_at(hanabi, 20)
    values = whole.run(4000)
    while not cut.enough(4000):
        cut.run_slice(4000, seconds=0.0)
    assert cut.rounds == whole.rounds > 4
    np.testing.assert_array_equal(cut.values().values, values.values)
    np.testing.assert_array_equal(cut.values().stderrs, values.stderrs)


def dealt(seed: int) -> Replay:
    """Two moves of a game in which seat 1's cards and the card that it draws are always the same, and seat 0's hand is not."""
    deck = np.repeat(np.arange(25), [3, 2, 2, 2, 1] * 5)
    np.random.default_rng(0).shuffle(deck)
    own, rest = deck[:5], deck[11:]
    unseen = np.concatenate([own, rest])
    np.random.default_rng(seed).shuffle(unseen)
    deck = np.concatenate([unseen[:5], deck[5:11], unseen[5:]])
    game = make_game(HANABI)
    tell = next(action for action in range(10, 20) if replay_or_none(game.id, [action], deck.tolist()))
    return replay_of_moves(game, 5, [tell, 0], start={"deck": deck.tolist()}, agents=["human", IGGI])


def replay_or_none(game: str, actions: list[int], deck: list[int]) -> Replay | None:
    try:
        return replay_of_moves(game, 5, actions, start={"deck": deck})
    except OptionError:
        return None


@pytest.mark.slow
def test_what_a_seat_is_shown_does_not_depend_on_what_it_cannot_see() -> None:
    shown = []
    for seed in (1, 2):
        replay = dealt(seed)
        reports = [PositionAnalysis(replay, number, view=0).run(300) for number in (0, 1, 2)]
        boards = [study_board(replay, number, 0) for number in (0, 1, 2)]
        judged = list(review(replay, rollouts=100, view=0))
        shown.append(json.dumps([reports, boards, judged]))
    assert dealt(1).start != dealt(2).start
    assert shown[0] == shown[1]


@pytest.mark.slow
def test_values_of_another_seat_are_not_shown() -> None:
    report = PositionAnalysis(dealt(1), 1, view=0, asked={}).run(100)
    assert report["values"] is None
    assert report["advice"] == []
    assert "played" not in report
    assert "what seat 0 cannot see" in report["notes"][0]


@pytest.mark.slow
def test_beliefs_are_probabilities_that_allow_the_truth(hanabi: Replay) -> None:
    belief = PositionAnalysis(hanabi, 20, asked={}).belief
    assert belief is not None
    assert belief.truth is not None
    np.testing.assert_allclose(belief.probabilities.sum(axis=1), 1)
    assert all(belief.probabilities[slot, card] > 0 for slot, card in enumerate(belief.truth))
    assert PositionAnalysis(hanabi, 20, view=0, asked={}).report()["belief"]["truth"] is None


def test_a_winning_move_is_best_and_missing_it_a_mistake() -> None:
    # Seat 0 has 0 and 1 and wins by 2, but plays 8; seat 1 has 3 and 4 and wins by 5.
    replay = replay_of_moves("TicTacToe-v0", 0, [0, 3, 1, 4, 8, 5])
    values = search_at(replay, 4).run(40_000)
    assert values.moves[values.best] == 2
    assert values.values[values.best] == pytest.approx(1.0)
    judged = {one.number: one for one in review(replay, rollouts=40_000)}
    assert judged[4].mistake
    assert judged[4].loss > 1
    assert not judged[5].mistake
    assert judged[5].level < 0 < judged[4].level


def test_texas_42_counts_worlds_and_ends_exactly() -> None:
    replay = record_replay("Texas42Play-v0", [make_agent("texas42/quick", "Texas42Play-v0")] * 4, seed=1)
    late = search_at(replay, 20).run(10_000)
    assert late.exact
    assert late.chances is not None
    assert ((late.chances >= 0) & (late.chances <= 1)).all()
    holders = PositionAnalysis(replay, 16, asked={}).belief
    assert holders is not None
    assert holders.truth is not None
    np.testing.assert_allclose(holders.probabilities.sum(axis=1), 1)


@pytest.mark.parametrize(
    ("game", "solver"),
    [
        pytest.param("Sokoban-v0", "sokoban/solver", marks=pytest.mark.slow),
        pytest.param("Sudoku4-v0", "sudoku/solver", marks=pytest.mark.slow),
        ("FrozenLakeFirm-v0", "frozen_lake/optimum"),
    ],
)
def test_solvers_find_no_mistake_in_their_own_games(game: str, solver: str) -> None:
    replay = record_replay(game, [make_agent(solver, game)], seed=2)
    judged = list(review(replay))
    assert len(judged) == len(replay.moves)
    assert not mistakes(judged)
    assert PositionAnalysis(replay, 0).run(1)["values"]["exact"]


@pytest.mark.slow
def test_plans_are_compared_where_all_move_at_once() -> None:
    replay = record_replay("Arena2P-v0", [make_agent("arena/rusher", "Arena2P-v0")] * 2, seed=3)
    report = PositionAnalysis(replay, 4, seat=1, asked={}).run(1)
    names = [move["action"] for move in report["values"]["moves"]]
    assert report["seat"] == 1
    assert "arena/sniper" in names
    assert all(abs(m["value"]) <= 1 for m in report["values"]["moves"])


def test_an_agent_that_fails_gives_no_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    class Faulty(RandomAgent):
        def choose(self, *_: object) -> None:  # type: ignore[override]
            raise AttributeError("no field of this game")

    replay = replay_of_moves("TicTacToe-v0", 0, [0, 3, 1])
    game = make_game("TicTacToe-v0")
    asked = {"faulty": Faulty(game.facts), "random": RandomAgent(game.facts)}
    analysis = PositionAnalysis(replay, 2, asked=asked)
    analysis.ask()
    assert [one.agent for one in analysis.advice] == ["random"]
    assert "faulty gives no advice: AttributeError: no field of this game" in analysis.notes


def test_moments_are_those_of_numpy() -> None:
    returns = np.random.default_rng(0).normal(20, 3, (50, 3))
    found = PairedMoments(3)
    for part in np.split(returns, 5):
        found.add(part)
    np.testing.assert_allclose(found.means, returns.mean(axis=0))
    np.testing.assert_allclose(found.stderrs, returns.std(axis=0, ddof=1) / np.sqrt(50))
    lead = returns[:, 2] - returns[:, 0]
    np.testing.assert_allclose(found.difference(2, 0), (lead.mean(), lead.std(ddof=1) / np.sqrt(50)))


def test_variations_leave_the_game_and_find_back(hanabi: Replay) -> None:
    position = position_at(hanabi, 20)
    assert position.move is not None
    assert position.to_move is not None
    other = next(int(a) for a in position.legal(position.to_move) if a != position.move.action)
    made, number = tried(hanabi, None, 20, other)
    assert made is not None
    assert number == 21
    assert made.text() == f"20:{other}"
    assert read_variation(hanabi, made.text()) == made
    assert tried(hanabi, None, 20, position.move.action) == (None, 21)
    further, number = tried(
        hanabi, made, 21, int(position_at(variation(hanabi, 20, [other]), 21).legal(1 - position.to_move)[0])
    )
    assert further is not None
    assert (further.at, len(further.actions), number) == (20, 2, 22)


@pytest.mark.parametrize(("text", "words"), [("1 x", "move 2 is 'x'"), ("1.2", "must have the form 0")])
def test_pasted_moves_that_are_none_are_named(text: str, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        parse_moves(make_game(HANABI), text)


def test_illegal_moves_are_named() -> None:
    with pytest.raises(OptionError, match="move 2 is 0"):
        replay_of_moves("TicTacToe-v0", 0, [0, 0])


def test_a_checkpoint_is_asked_for_its_probabilities(tmp_path: Path) -> None:
    file = tmp_path / "run" / "ppo.ludory"
    file.parent.mkdir()
    ludory.make_algorithm("ppo", policy="mlp", env="TicTacToe-v0", num_envs=8, seed=1).save(file)
    replay = replay_of_moves("TicTacToe-v0", 0, [0, 3])
    report = PositionAnalysis(replay, 2, asked={}, also=[str(file)]).run(1)
    shares = [move["networks"]["run/ppo.ludory"] for move in report["values"]["moves"]]
    assert sum(shares) == pytest.approx(1)
    assert report["advice"][0]["action"] == report["values"]["moves"][shares.index(max(shares))]["action"]
