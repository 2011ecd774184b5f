"""Agents at a stand-in for hanab.live: they see and do what they would in the true game, without being told their cards."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np
import pytest
from reference.hanab_live import VARIANTS, SiteTable, random_game

from ludory.agents import make_agent
from ludory.agents.hanabi.live import LiveClient, LiveSeat
from ludory.cli import main
from ludory.data.formats.hanabi.moves import Hands, SiteMove, TableSize
from ludory.data.playthrough import Playthrough
from ludory.envs import Engine, make_engine, make_game
from ludory.errors import DataError, OptionError

TABLE = 7


def init(table: SiteTable, seat: int, **options: Any) -> dict[str, Any]:
    names = {"variantName": VARIANTS[table.suits], "numPlayers": table.players, "startingPlayer": table.first}
    return {
        "tableID": TABLE,
        "playerNames": ["someone"] * table.players,
        "ourPlayerIndex": seat,
        "spectating": False,
        "replay": False,
        "options": {**names, "timed": False, "emptyClues": False, **options},
    }


def cards(table: SiteTable) -> list[int]:
    return [5 * suit + rank - 1 for suit, rank in table.deck]


def actions_of(table: SiteTable) -> list[int]:
    """The moves of a table as action ids."""
    again, hands, found = (
        SiteTable(table.players, suits=table.suits, deck=table.deck, first=table.first),
        Hands(TableSize(table.players, table.suits)),
        [],
    )
    for action in table.actions:
        hands.orders = again.hands
        found.append(hands.action(SiteMove(**action), again.mover))
        again.act(action)
    return found


def true_game(table: SiteTable, **options: Any) -> Engine:
    id, own = TableSize(table.players, table.suits).game
    engine = make_engine(make_game(id, **own, **options), seed=0)
    engine.reset(options={"deck": cards(table), "start_player": table.first})
    return engine


@pytest.mark.parametrize(
    ("players", "suits", "seed", "observation", "first"),
    [
        (2, 5, 0, "card_knowledge", 0),
        pytest.param(3, 5, 1, "tactical", 0, marks=pytest.mark.slow),
        pytest.param(4, 5, 2, "v0_belief", 0, marks=pytest.mark.slow),
        pytest.param(5, 5, 3, "card_knowledge", 0, marks=pytest.mark.slow),
        (3, 4, 4, "minimal", 2),
        (2, 3, 5, "conventions", 1),
    ],
)
def test_every_seat_sees_what_it_sees_in_the_true_game(
    players: int, suits: int, seed: int, observation: str, first: int
) -> None:
    table = random_game(players, seed, suits, first=first)
    true = true_game(table, observation=observation)
    seats = [LiveSeat("hanabi/iggi", init(table, seat), observation=observation) for seat in range(players)]
    told = [iter(table.messages(seat)) for seat in range(players)]
    for seat in range(players):
        for _ in range(players * TableSize(players, suits).hand):
            seats[seat].hear(next(told[seat]))
    for step, action in enumerate(actions_of(table)):
        for seat in range(players):
            engine = seats[seat].engine
            assert np.array_equal(engine.observe(seat), true.observe(seat)), (step, seat)
            assert seat != true.to_move[0] or np.array_equal(engine.legal(), true.legal())
        true.step([action])
        for seat in range(players):
            while (message := next(told[seat]))["type"] != "turn":
                seats[seat].hear(message)
    assert all(seat.over for seat in seats)


def live_game(agent: str, players: int, seed: int) -> SiteTable:
    """A game in which all seats are held by agents that only hear messages."""
    table = SiteTable(players, seed)
    seats = [LiveSeat(agent, init(table, seat)) for seat in range(players)]
    asked = [one.catch_up(table.messages(seat)) for seat, one in enumerate(seats)]
    while not table.end:
        assert [seat for seat, one in enumerate(asked) if one] == [table.mover]
        action, heard = asked[table.mover], len(table.log)
        assert action is not None
        assert action.pop("tableID") == TABLE
        table.act(action)
        for seat, one in enumerate(seats):
            *before, turn = table.messages(seat, heard)
            assert all(one.hear(message) is None for message in before)
            asked[seat] = one.hear(turn)
    assert not any(asked)
    return table


@pytest.mark.parametrize(
    ("agent", "players"),
    [pytest.param("hanabi/smartbot", 2, marks=pytest.mark.slow), ("hanabi/smartbot", 4), ("hanabi/piers", 3)],
)
def test_agents_play_as_in_the_true_game(agent: str, players: int) -> None:
    table, game = live_game(agent, players, 3), make_game(f"Hanabi{players}P-v0")
    players_of = [make_agent(agent, game) for _ in range(players)]
    # agents that draw do so by the seed, which is the number of the table
    true = Playthrough(game, players_of, seed=TABLE, start={"deck": cards(table)})
    assert [move.action for move in true] == actions_of(table)


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["hanabi/ppo_long", "sparta(hanabi/smartbot, rollouts=100)"])
def test_networks_and_searches_play_whole_games(agent: str) -> None:
    table = SiteTable(2, 4)
    names = [agent, "hanabi/smartbot" if agent.startswith("sparta") else agent]
    seats = [LiveSeat(name, init(table, seat)) for seat, name in enumerate(names)]
    heard = 0
    while not table.end:
        for seat, one in enumerate(seats):
            one.catch_up(table.messages(seat, heard))
        action, heard = seats[table.mover].action(), len(table.log)
        assert action is not None
        table.act(action)
    assert table.score > 15


def test_who_comes_late_catches_up() -> None:
    table = live_game("hanabi/smartbot", 3, 5)
    turns = [number for number, one in enumerate(table.log) if one["type"] == "turn"]
    for step in (0, 1, 17, 40):
        seat = step % 3
        late = LiveSeat("hanabi/smartbot", init(table, seat))
        action = late.catch_up(table.messages(seat)[: turns[step - 1] + 1 if step else 15])
        assert action == {"tableID": TABLE, **table.actions[step]}


def test_a_client_answers_the_messages_of_a_table() -> None:
    table, client = SiteTable(2, 6), LiveClient("hanabi/smartbot")
    assert client.answer('chat {"msg": "hello"}') == []
    assert client.answer("") == []
    assert client.answer('tableStart {"tableID": 7, "replay": false}') == ['getGameInfo1 {"tableID": 7}']
    assert client.answer(f"init {json.dumps(init(table, 0))}") == ['getGameInfo2 {"tableID": 7}']
    loaded, action = client.answer(f"gameActionList {json.dumps({'tableID': 7, 'list': table.messages(0)})}")
    assert loaded == 'loaded {"tableID": 7}'
    assert action.startswith('action {"tableID": 7, "type": ')
    chosen, heard = json.loads(action.removeprefix("action ")), len(table.log)
    table.act(chosen)
    for message in table.messages(0, heard):
        assert client.answer(f"gameAction {json.dumps({'tableID': 7, 'action': message})}") == []
    # tables that it only watches
    assert client.answer(f"init {json.dumps(init(table, 0) | {'spectating': True, 'tableID': 8})}") == []
    assert client.answer('gameAction {"tableID": 8, "action": {"type": "turn"}}') == []


def test_the_command_answers_lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    table = SiteTable(3, 6)
    lines = [
        f"init {json.dumps(init(table, 0))}",
        f"gameActionList {json.dumps({'tableID': 7, 'list': table.messages(0)})}",
    ]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(lines) + "\n"))
    assert main(["hanabi", "live", "hanabi/smartbot"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["getGameInfo2", "loaded", "action"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"variantName": "Rainbow (5 Suits)"}, r"options.variant 'Rainbow \(5 Suits\)'"),
        ({"emptyClues": True}, "options.emptyClues True"),
        ({"oneLessCard": True}, "options.oneLessCard True"),
    ],
)
def test_tables_of_other_rules_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        LiveSeat("hanabi/iggi", init(SiteTable(2), 0, **options))


def test_agents_that_look_at_their_cards_are_refused() -> None:
    with pytest.raises(OptionError, match="looks at its own cards"):
        LiveSeat("hanabi/cheatbot", init(SiteTable(2), 0))


def test_messages_that_do_not_fit_are_named() -> None:
    table = random_game(2, 0, moves=30)
    told, dealt = table.messages(0), 10
    of = {target: next(one for one in told if one["type"] == "clue" and one["target"] == target) for target in (0, 1)}
    used = next(one for one in told if one["type"] in ("play", "discard") and one["playerIndex"] == 1)
    for before, one, message in (
        (0, told[dealt], "before all cards are drawn"),
        (3, told[4], "field 'order': got 4, must be 3"),
        (9, {**told[9], "rank": 9}, "field 'rank': got 9"),
        (dealt, {"type": "draw", "order": 10, "playerIndex": 0}, "a card drawn before one is used"),
        (4, {**told[4], "playerIndex": 1}, "field 'playerIndex': got 1, must be 0, who draws"),
        (dealt, {"type": "turn", "currentPlayerIndex": 1}, "field 'currentPlayerIndex': got 1, must be 0"),
        (told.index(used) + 1, {"type": "turn", "currentPlayerIndex": 0}, "field 'currentPlayerIndex': got 0"),
        (
            dealt,
            {"type": "play", "order": 9, "suitIndex": 0, "rank": 1},
            "card 9, which is not in the hand of player 0",
        ),
        (told.index(used), {**used, "rank": used["rank"] % 5 + 1}, "as another card than before"),
        (told.index(used) + 1, of[1], "clue before all cards are drawn"),
        (told.index(of[0]), {**of[0], "list": [99]}, "message gameAction 'clue'"),
        (told.index(of[1]), {**of[1], "list": []}, "the cards of player 1 that match"),
        (told.index(of[0]), {"type": "clue"}, "field 'target': got nothing"),
    ):
        seat = LiveSeat("hanabi/iggi", init(table, 0))
        seat.catch_up(told[:before])
        with pytest.raises(DataError, match=message):
            seat.hear(one)
    for text in ("init {", "init []", 'init {"tableID": "x"}', f"init {json.dumps({'tableID': 7})}"):
        with pytest.raises(DataError, match=r"send getGameInfo1"):
            LiveClient("hanabi/iggi").answer(text)


def test_a_client_forgets_a_table_that_it_misunderstood() -> None:
    table, client = SiteTable(2, 0), LiveClient("hanabi/iggi")
    client.answer(f"init {json.dumps(init(table, 0))}")
    with pytest.raises(DataError, match="field 'list': got nothing"):
        client.answer('gameActionList {"tableID": 7}')
    with pytest.raises(DataError, match="before all cards are drawn"):
        client.answer('gameAction {"tableID": 7, "action": {"type": "clue"}}')
    assert client.answer('gameAction {"tableID": 7, "action": {"type": "clue"}}') == []


def test_cards_that_no_deck_has_are_refused() -> None:
    table = SiteTable(2, 0)
    seat = LiveSeat("hanabi/iggi", init(table, 0))
    told = [
        one | {"suitIndex": 0, "rank": 5} if one["type"] == "draw" and one["playerIndex"] == 1 else one
        for one in table.messages(0)
    ]
    with pytest.raises(DataError, match="cards and clues that no deck has"):
        seat.catch_up(told)
