"""Texas 42: two partnerships, a double-six domino set, one auction, seven tricks, scored in marks.

Three games with the same rules: a hand with its auction, a match to seven marks, and the play of a fixed contract.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Literal

from ludory.envs import Game, GameFacts, Head, Kernels, Look, Rules, check_choice, read_options
from ludory.errors import OptionError

from .codec import codec
from .observation import OBSERVE, observation_spec
from .options import MOST_ATTEMPTS, NELLO, OBSERVATIONS, FixedContract, ObservationName, Texas42Rules
from .pictures.svg import draw_svg
from .pictures.text import draw_text
from .pictures.wording import FACT_NAMES, action_name, last_move, public_info, tile_action_name
from .redeal import redeal
from .rules import legal, legal_play, reset, reset_play, step, step_play
from .start import start_hand, start_play
from .state import AS_IT_FALLS, AT_THE_END, FIXED, NUM_ACTIONS, ONE_HAND, PLAY_0, WHOLE_MATCH, consistent, fields
from .tiles import NELLO_HIGH

__all__ = ["FixedContract", "Texas42Rules", "make_hand", "make_match", "make_play"]

LOOK = Look(info=public_info, fact_names=FACT_NAMES, text=draw_text, last_move=last_move)
"""What the three games look like, but for names of actions and what is clicked."""


def make_hand(observation: ObservationName = "bits+history", **options: Any) -> Game:
    """`Texas42-v0`: one hand with auction and declaration; reward: the marks won or lost, at the end.

    Raises:
        OptionError: unknown option (see `Texas42Rules`), or a value that is not allowed.
    """
    rules = read_options("Texas 42", Texas42Rules, options, ("observation",))
    if "target" in options:
        raise OptionError("target: only a match has one; use Texas42Match-v0")
    _check_observation(observation, with_auction=True)
    return _game("Texas 42", rules, ONE_HAND, AT_THE_END, observation, rules.highest_bid, 33, options)


def make_match(
    observation: ObservationName = "bits+history", reward: Literal["win", "marks"] = "win", **options: Any
) -> Game:
    """`Texas42Match-v0`: hands until a team has `target` marks; cut off after 64 deals.

    reward: "win": +1 or -1 at the end of the match; "marks": the marks of each hand at its end.

    Raises:
        OptionError: unknown option (see `Texas42Rules`), or a value that is not allowed.
    """
    rules = read_options("Texas 42 match", Texas42Rules, options, ("observation",))
    check_choice("reward", reward, ("win", "marks"))
    _check_observation(observation, with_auction=True)
    most = 1 if reward == "win" else rules.target - 1 + rules.highest_bid
    paid = AT_THE_END if reward == "win" else AS_IT_FALLS
    return _game("Texas 42 match", rules, WHOLE_MATCH, paid, observation, most, 33 * MOST_ATTEMPTS, options)


def make_play(
    observation: ObservationName = "bits+history",
    early_stop: bool = False,
    decl: int | None = None,
    bid: int = 30,
    bidder: int = 0,
    leader: int | None = None,
    reward: Literal["points", "make"] = "points",
) -> Game:
    """`Texas42Play-v0`: the seven tricks of a fixed contract; see `FixedContract`.

    Raises:
        OptionError: a value that is not allowed.
    """
    rules = Texas42Rules(early_stop=early_stop)
    contract = FixedContract(decl, bid, bidder, leader, reward)
    _check_observation(observation, with_auction=False)
    facts = _facts("Texas 42 play", Head("tile", 28), observation, 28, 1)
    paid = AT_THE_END if reward == "make" else AS_IT_FALLS
    made = Rules(
        fields=fields(_setup(rules, FIXED, paid), contract.columns),
        kernels=Kernels(reset_play, step_play, legal_play, OBSERVE[observation], redeal),
        consistent=consistent,
    )
    look = replace(LOOK, action_name=tile_action_name, svg=draw_svg)
    return _with_start(
        Game(facts, made, look, codec(tile_action_name, facts.num_actions, None), family="texas42"), start_play
    )


def _game(
    name: str,
    rules: Texas42Rules,
    format: int,
    paid: int,
    observation: ObservationName,
    most: int,
    longest: int,
    options: dict[str, Any],
) -> Game:
    facts = _facts(name, Head("action", NUM_ACTIONS), observation, longest, most)
    made = Rules(
        fields=fields(_setup(rules, format, paid), (-1,) * 6),
        kernels=Kernels(reset, step, legal, OBSERVE[observation], redeal),
        consistent=consistent,
    )
    look = replace(LOOK, action_name=action_name, svg=partial(draw_svg, first_play=PLAY_0))
    game = Game(facts, made, look, codec(action_name, NUM_ACTIONS, rules), options=options, family="texas42")
    return _with_start(game, start_hand)


def _with_start(game: Game, start: Any) -> Game:
    """`game` with `start`, which needs the game itself because it plays given moves."""
    return replace(game, rules=replace(game.rules, start=partial(start, game)))


def _facts(name: str, head: Head, observation: ObservationName, longest: int, most: int) -> GameFacts:
    return GameFacts(
        name=name,
        players=4,
        turns="sequential",
        reward="zero_sum",
        hidden_information=True,
        chance=True,
        heads=(head,),
        observation=observation_spec(observation),
        longest_game=longest,
        min_return=-most,
        max_return=most,
        teams=(0, 1, 0, 1),
    )


def _setup(rules: Texas42Rules, format: int, paid: int) -> tuple[int, ...]:
    """The columns of the state field `setup`."""
    forms = sum(1 << (NELLO[form] - NELLO_HIGH) for form in set(rules.nello))
    flags = int(rules.splash), int(rules.sevens), int(rules.early_stop)
    return (format, int(rules.all_pass == "forced"), forms, rules.plunge, *flags, rules.target, paid)


def _check_observation(name: str, with_auction: bool) -> None:
    check_choice("observation", name, OBSERVATIONS)
    if with_auction and name == "transcript":
        raise OptionError(
            "observation='transcript' shows no auction: use Texas42Play-v0, or observation='bits+history'"
        )
