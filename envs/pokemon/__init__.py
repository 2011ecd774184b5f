"""Pokémon battles on the rules of Pokémon Showdown: two seats that choose at once, hidden teams, chance."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from ludory import envs

from .formats import RULES, Gimmick, SlotOrder, action_names, battle_format, gimmick_groups, num_actions, rules_of
from .vocab import VOCAB_SHA256

OBSERVATIONS = ("entity", "flat", "seed41", "none")
NETWORKS = {"entity": "pokemon/entity", "flat": "pokemon/mlp", "seed41": "pokemon/seed-mlp"}
"""The network that learns by default, by observation."""
_ROUNDS_PER_TURN = 6
"""More decisions than one in a turn: forced switches, pivots, and choices that were refused."""


def make_game(
    format: str = "gen9randombattle",
    gimmick: Gimmick = "native",
    observation: str = "entity",
    slot_order: SlotOrder = "request",
    teams: object = None,
    max_turns: int = 1000,
    preview: str = "choose",
) -> envs.Game:
    """Make a game of Pokémon battles.

    Args:
        format: id of a singles format of the simulator, such as "gen9randombattle".
        gimmick: "native": actions for the gimmick of the generation; "never": 10 actions in every generation.
        observation: "entity", "flat" or "seed41"; "none" follows no battle, for measurements.
        slot_order: order of the moves among actions 0-3: that of the menu ("request"), or by move id ("alpha"), as in data from replays.
        teams: in formats that need them, to play; who learns from recorded battles needs none: a folder, a file, or a list of exports or packed teams; or a pair of these, one for each seat.
        max_turns: a battle that is not over after so many turns is truncated; the simulator itself ends it after 1,000.
        preview: "choose" the lead in formats with team preview, or leave it to chance ("random").

    Raises:
        OptionError: an option has a value that is not allowed, or a team is illegal.
    """
    from .decisions import battle_decisions
    from .engine import ENGINE_OPTIONS, PokemonEngine, make_seat_info, make_state_info
    from .lane import LaneOptions
    from .pictures import draw_svg, draw_text, last_move
    from .teams import team_bank

    found = battle_format(format)
    envs.check_choice("gimmick", gimmick, ("native", "never"))
    envs.check_choice("observation", observation, OBSERVATIONS)
    envs.check_choice("slot_order", slot_order, ("request", "alpha"))
    envs.check_choice("preview", preview, ("choose", "random"))
    envs.check_range("max_turns", max_turns, 1, 1000)
    names = action_names(found.gen, gimmick)
    facts = envs.GameFacts(
        name=f"pokemon {found.id}",
        players=2,
        turns="simultaneous",
        reward="zero_sum",
        hidden_information=True,
        chance=True,
        heads=(envs.Head("choice", num_actions(found.gen, gimmick)),),
        observation=_observation_spec(observation),
        longest_game=_ROUNDS_PER_TURN * max_turns,
        min_return=-1,
        max_return=1,
        clones=True,
        saves=True,
        redeals=False,
        seats_wait=True,
        network=NETWORKS.get(observation),
    )
    lane = LaneOptions(found.id, found.gen, gimmick, slot_order, observation, max_turns, preview)
    return envs.Game(
        facts,
        envs.Rules(
            engine=partial(PokemonEngine, lane=lane, teams=team_bank(found, teams)),
            engine_options=ENGINE_OPTIONS,
            ignores_waiting=True,
        ),
        look=envs.Look(
            action_name=lambda head, value: names[value],
            info=make_state_info,
            fact_names={"winner": envs.FactNames(("p1", "p2", "tie"))},
            seat_info=make_seat_info,
            text=draw_text,
            svg=draw_svg,
            last_move=last_move,
        ),
        analysis=envs.Analysis(decision_kinds=battle_decisions(facts.observation)),
        family="pokemon",
        records=envs.Records(
            engine_conventions={"backend": _conventions_of_backend},
            playing_options=("teams", "max_turns", "preview"),
            conventions={"vocab_sha256": VOCAB_SHA256, "slot_order": slot_order}
            | ({"gimmick": gimmick} if gimmick_groups(found.gen) else {}),
        ),
    )


def _conventions_of_backend(backend: str) -> Mapping[str, str]:
    return {"rules": rules_of(backend)}


def _observation_spec(observation: str) -> envs.ObservationSpec:
    if observation == "none":
        return envs.ObservationSpec("none", (1,), "float32", envs.flat_segments({"nothing": 1}))
    from . import observation as encoders

    specs = {"entity": encoders.entity_spec, "flat": encoders.flat_spec, "seed41": encoders.seed41_spec}
    spec: envs.ObservationSpec = specs[observation]()
    return spec


__all__ = ["RULES", "make_game"]
