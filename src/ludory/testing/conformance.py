"""`check_game`: tests the contract of a game and of its views, property by property."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from operator import attrgetter
from typing import Literal

from ludory.envs import Game, few_steps, make_engine
from ludory.envs.engine.binding.plain_kernels import plain_rules
from ludory.errors import ConformanceError, OptionError

from .kernels import interpreted_and_compiled as kernels
from .kernels import plain_games, simulator
from .properties import (
    batches,
    copied_views,
    facts,
    gymnasium_views,
    hidden,
    masks,
    outcomes,
    pettingzoo_views,
    pictures,
    training,
)
from .trial import EngineMaker, Trial

Report = Callable[[str, bool, str], None]
"""`report(name, ok, message)`; the message says what is wrong or why a property does not apply, or is empty."""

PROPERTIES: Mapping[str, Callable[[Trial], str | None]] = {
    "facts": facts.facts_hold_together,
    "plain kernels": plain_games.kernels_run_as_plain_python,
    "segments": facts.segments_tile_the_observation,
    "action names": facts.actions_have_names,
    "reset options": facts.unknown_reset_options_are_refused,
    "masks": masks.masks_have_their_form,
    "longest game": outcomes.games_end_in_time,
    "turns": outcomes.seats_take_turns,
    "rewards": outcomes.rewards_are_of_the_declared_kind,
    "finished games": outcomes.finished_games_are_frozen,
    "eliminated seats": outcomes.seats_that_are_out_stay_out,
    "waiting seats": outcomes.seats_that_wait_have_no_choice,
    "abilities": facts.what_the_engine_lacks_is_refused,
    "observations": facts.observations_fit_their_spec,
    "fresh arrays": facts.arrays_are_fresh,
    "seeds repeat": batches.seeds_repeat,
    "seeds differ": batches.seeds_differ,
    "alone": batches.games_are_the_same_alone,
    "clone": batches.clones_diverge_only_by_actions,
    "gather": batches.gather_copies,
    "copies of engines": copied_views.copied_engines_continue,
    "copies of views": copied_views.copied_views_continue,
    "save and restore": batches.restored_games_continue,
    "stepping rows": batches.games_can_be_stepped_apart,
    "resetting rows": batches.games_can_be_reset_apart,
    "legal actions": masks.legal_actions_can_be_played,
    "illegal actions": masks.illegal_actions_are_refused,
    "used heads": training.unused_heads_have_no_effect,
    "critic": training.the_critic_sees_what_it_should,
    "given arrays": batches.play_fills_given_arrays,
    "kernels": kernels.kernels_stay_in_their_row,
    "state bounds": batches.states_stay_within_their_bounds,
    "Gymnasium env": gymnasium_views.gymnasium_env_agrees,
    "Gymnasium vector": gymnasium_views.gymnasium_vector_agrees,
    "PettingZoo AEC": pettingzoo_views.pettingzoo_aec_agrees,
    "PettingZoo parallel": pettingzoo_views.pettingzoo_parallel_agrees,
    "pictures": pictures.pictures_are_drawn,
    "text codec": pictures.texts_can_be_read_and_answered,
    "CUDA simulator": simulator.cuda_simulator_agrees,
    "hidden information": hidden.hidden_information_stays_hidden,
    "redeal": hidden.redeal_draws_what_is_hidden,
    "redeal frequencies": hidden.redeal_draws_as_often_as_fresh_deals,
}

NEEDS: Mapping[str, tuple[str, str]] = {
    "clone": ("clones", "games cannot be copied"),
    "gather": ("clones", "games cannot be copied"),
    "copies of engines": ("clones", "games cannot be copied"),
    "copies of views": ("clones", "games cannot be copied"),
    "save and restore": ("saves", "running games cannot be saved"),
    "plain kernels": ("rules.kernels", "the rules run elsewhere"),
    "kernels": ("rules.kernels", "the rules run elsewhere"),
    "redeal frequencies": ("rules.kernels", "the rules run elsewhere"),
    "state bounds": ("rules.kernels", "the rules run elsewhere"),
    "CUDA simulator": ("rules.kernels", "the rules run elsewhere"),
}
"""Properties that need an ability: its place in `Game`, and the remark about games without it."""


def check_game(
    game: Game,
    *,
    games: int = 64,
    seed: int = 0,
    report: Report | None = None,
    cuda: Literal["auto", "skip"] = "auto",
    maker: EngineMaker = make_engine,
    compiled: bool = True,
) -> None:
    """Play random games and raise an error at the first property that the game, its engine or one of its views lacks.

    First a few games are played with the kernels as plain Python, on arrays that check every index: what would crash the process in
    compiled code is an error here, with the kernel, its line, the array, the index and the size.

    Then a batch of games is played to the end with random legal moves. For the same seed and actions, the following must hold:

    * facts: counts are positive and bounds in order; segments tile the observation; each action has a unique name;
      unknown reset options are refused.
    * masks: shape and dtype; a running game has a legal action for every head; every legal action can be played; every
      illegal one, also outside the box of continuous actions, raises IllegalActionError and changes nothing.
    * outcomes: games end within `longest_game`; rewards are of the declared kind (shared, and within a team: equal returns;
      zero_sum: returns sum to 0; within min_return..max_return); finished games are frozen, with an all-true mask.
    * seats that are out before the end: they are settled once, have no reward afterwards, and one legal value per head.
    * seats that wait: only living seats decide, one in turn or all that do not wait; waiting seats have one legal value per head.
    * abilities: what the engine does not support (copy, redeal, save) raises OptionError.
    * training: heads that `used` leaves out have no effect on later observations; `critic` has its size and range.
    * observations: shape, dtype and range; packed observations are the bits of whole ones; returned arrays belong to the caller.
    * seeds: a seed repeats its games; another seed, index or episode gives other games (the same ones without chance).
    * batches: a game is the same alone, in a batch, and stepped or reset by `rows`.
    * given arrays: `play` is `step`, `legal` and `observe`, and arrays given as `out` are filled and returned.
    * copies: clones diverge only by actions; gather copies; restored games continue bit for bit, including later draws; so do
      copies of engines and views by `copy` and `pickle`.
    * state: every field stays within its declared bounds, and the game's `consistent` agrees.
    * views: Gymnasium (every seat that a policy can play), Gymnasium vector, PettingZoo AEC and parallel show what the
      engine shows, step by step, in arrays that belong to the caller.
    * kernels: interpreted kernels use only their own row, within bounds, and agree with compiled ones.
    * hidden information: a seat's observation, mask, info and pictures stay the same when only hidden information changes
      (`redeal`). `redeal` does change it, as often as fresh deals do if the game is small enough to compare them. Not tested if the
      observation is privileged on purpose.
    * CUDA: in Numba's CUDA simulator the kernels play the same games as on the CPU, bit for bit.
    * pictures: text and SVG can be drawn at every stage.
    * text codec: every seat gets a text at every stage, names of actions are parsed as these actions, and nonsense gets a reason.

    For a game whose rules run elsewhere, a remark takes the place of what cannot be tested: kernels, CUDA, and missing abilities.

    Args:
        game: the game to examine.
        games: size of the batch.
        seed: of deals and moves.
        report: called for every property with its name, the result and a message. All properties are then tried before an error is raised.
        cuda: "auto" runs the CUDA simulator if numba-cuda is installed and another process can make the game; "skip" does not.
        maker: makes the engine, called as `maker(game, num_games, seed=, first_game=)`.
        compiled: False runs the rules as plain Python everywhere, where a debugger stops in them; nothing is compiled, and what only
            concerns compiled code is not tested.

    Raises:
        ConformanceError: a property does not hold; the message names the property, the game, the step and the difference.
    """
    if games < 1:
        raise OptionError(f"games={games}: must be at least 1")
    if cuda not in ("auto", "skip"):
        raise OptionError(f"cuda={cuda!r}: must be 'auto' or 'skip'")
    with few_steps():
        if compiled:
            return _check(Trial(game, maker, games, seed, cuda), report, ())
        with plain_rules():
            return _check(Trial(game, maker, games, seed, "skip"), report, ("kernels",))


def _check(trial: Trial, report: Report | None, left_out: Container[str]) -> None:
    """Test every property, in order, but for those that are left out."""
    game = trial.game
    first: ConformanceError | None = None
    for name, holds in PROPERTIES.items():
        try:
            # every game has facts
            ability, lack = NEEDS.get(name, ("facts", ""))
            if name in left_out:
                remark = "not asked for"
            else:
                remark = (holds(trial) or "") if attrgetter(ability)(game) else f"not tested: {lack}"
            violation = None
        except Exception as error:  # a broken kernel may raise anything
            remark = str(error) if isinstance(error, ConformanceError) else f"{type(error).__name__}: {error}"
            violation = ConformanceError(f"{game.id or game.facts.name}: {name}: {remark}")
            violation.__cause__ = error
        if report:
            report(name, violation is None, remark)
        elif violation:
            raise violation
        first = first or violation
    if first:
        raise first
