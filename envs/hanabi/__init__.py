"""Hanabi: cooperative, hidden hands, 2 to 5 seats. Rules of hanabi-learning-environment (arXiv 1902.00506)."""

from __future__ import annotations

from functools import partial
from typing import Any

from ludory.envs import Analysis, FactNames, Game, GameFacts, Head, Kernels, Look, Rules, State, read_options

from .codec import codec
from .conventions.observation import observe_conventions, reset_conventions, step_conventions
from .observation import observation_spec, observe_card_knowledge, observe_minimal, observe_seer, observe_v0_belief
from .pictures.svg import draw_svg
from .pictures.text import draw_text
from .redeal import redeal
from .rules import legal, reset, step
from .sight import COLOR_NAMES, last_move
from .start import start_fields
from .state import ACTION, BOMB, DECK_OUT, KIND, MAX_REDEAL_HAND, NO_MOVE, PERFECT, RUNNING, consistent, fields
from .symmetry import draw_colors
from .tactical import observe_tactical
from .variants import HanabiOptions

__all__ = ["HanabiOptions", "make_game"]

OBSERVE = {
    "card_knowledge": observe_card_knowledge,
    "conventions": observe_conventions,
    "minimal": observe_minimal,
    "seer": observe_seer,
    "tactical": observe_tactical,
    "v0_belief": observe_v0_belief,
}
"""Observation kernel by the name of the `observation` option."""
END_NAMES = {RUNNING: "running", BOMB: "bomb", PERFECT: "perfect", DECK_OUT: "deck"}


def make_game(**options: Any) -> Game:
    """Make Hanabi with keyword options, see `HanabiOptions`.

    Raises:
        OptionError: unknown option, or a value that is not allowed.
    """
    chosen = read_options("Hanabi", HanabiOptions, options)
    perfect = chosen.colors * chosen.ranks
    remembers = chosen.observation == "conventions"
    rules = (reset_conventions, step_conventions) if remembers else (reset, step)
    facts = GameFacts(
        name="Hanabi",
        players=chosen.players,
        turns="sequential",
        reward="shared",
        hidden_information=True,
        chance=True,
        heads=(Head("action", chosen.num_actions),),
        observation=observation_spec(chosen),
        longest_game=chosen.longest_game,
        min_return=0,
        max_return=perfect,
        privileged_observation=chosen.observation == "seer",
    )
    return Game(
        facts,
        Rules(
            fields=fields(chosen),
            kernels=Kernels(
                *rules, legal, OBSERVE[chosen.observation], redeal if chosen.hand_size <= MAX_REDEAL_HAND else None
            ),
            start=partial(start_fields, chosen),
            consistent=partial(consistent, chosen),
        ),
        look=Look(
            action_name=partial(action_name, chosen),
            info=partial(public_info, chosen),
            fact_names={"end": FactNames(tuple(END_NAMES.values()))},
            text=partial(draw_text, chosen),
            svg=partial(draw_svg, chosen),
            last_move=partial(last_move, chosen),
        ),
        language=codec(chosen, partial(action_name, chosen)),
        analysis=Analysis(symmetry=partial(draw_colors, chosen)),
        options=options,
        family="hanabi",
    )


def action_name(options: HanabiOptions, head: int, action: int) -> str:
    """An action id in words: "discard 1", "play 5", "tell +1 red", "tell +2 rank 3" (slots and ranks 1-based)."""
    hand, hints = options.hand_size, action - 2 * options.hand_size
    if action < hand:
        return f"discard {action + 1}"
    if hints < 0:
        return f"play {action - hand + 1}"
    if hints < (options.players - 1) * options.colors:
        offset, color = divmod(hints, options.colors)
        return f"tell +{offset + 1} {COLOR_NAMES[color]}"
    offset, rank = divmod(hints - (options.players - 1) * options.colors, options.ranks)
    return f"tell +{offset + 1} rank {rank + 1}"


def public_info(options: HanabiOptions, state: State, i: int) -> dict[str, Any]:
    """Public facts of game i; `score` is 0 after a bomb, `stacks` is not."""
    fireworks, lives = state.fireworks[i].tolist(), state.lives.item(i)
    stacks = sum(fireworks)
    return {
        "last_action": options.num_actions if state.last.item(i, KIND) == NO_MOVE else state.last.item(i, ACTION),
        "score": stacks if lives > 0 else 0,
        "stacks": stacks,
        "fireworks": fireworks,
        "lives": lives,
        "information_tokens": state.tokens.item(i),
        "deck_size": state.deck.shape[1] - state.deck_top.item(i),
        "turn": state.turn.item(i),
        "end": END_NAMES[state.end.item(i)],
    }
