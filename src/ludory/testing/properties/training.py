"""Properties of what engines provide for learning: which heads have an effect (`used`), and `critic`."""

from __future__ import annotations

import numpy as np

from ludory.envs.engine.protocol import Engine
from ludory.testing.random_moves import RandomMoves
from ludory.testing.recording import Array, compare, look, to_numpy
from ludory.testing.trial import Trial, require


def unused_heads_have_no_effect(trial: Trial) -> str | None:
    """`used` is True only for living seats of running games; other legal values of unused heads change no observation."""
    facts, left_out = trial.facts, False
    if facts.box is not None:
        return "continuous actions have no heads"
    choose = RandomMoves(facts, trial.games, trial.generator("used"))
    for step, engine in trial.positions(12):
        masks = to_numpy(engine.legal())
        played, other = choose(masks), choose(masks)
        used, where = to_numpy(engine.used(played)), f"step {step}"
        shape = (trial.games, *((facts.players,) if facts.simultaneous else ()), len(facts.heads))
        require(used.shape == shape, f"{where}: used() has shape {used.shape}, must be {shape}")
        require(used.dtype == bool, f"{where}: used() has dtype {used.dtype}, must be bool")
        alive = to_numpy(engine.alive)
        acts = (
            np.expand_dims(to_numpy(engine.deciding), -1)
            if facts.simultaneous
            else np.asarray(alive.any(axis=1, keepdims=True))
        )
        require(not (used & ~acts).any(), f"{where}: a seat that is out or waits, or of a finished game, uses a head")
        _check_forms(engine, played, used, where)
        left_out = left_out or bool((~used & acts).any())
        # other legal values, only where the head is unused
        changed = np.where(used.reshape(played.shape), played, other)
        if (changed != played).any() and trial.game.clones:
            mine, theirs = engine.clone(), engine.clone()
            mine.step(changed)
            theirs.step(played)
            compare(facts, look(mine), look(theirs), f"{where}, other values of heads that used() leaves out")
    return None if left_out or not trial.game.tells_used else "every head was used in random games"


def _check_forms(engine: Engine, played: Array, used: Array, where: str) -> None:
    """`seat` and `rows` give the same answers."""
    rows = np.arange(engine.num_games)[::3]
    require(
        (to_numpy(engine.used(played[rows], rows=rows)) == used[rows]).all(),
        f"{where}: used(rows=...) differs from used()",
    )
    for seat in range(engine.facts.players) if engine.facts.simultaneous else ():
        mine = played[:, seat, 0] if len(engine.facts.heads) == 1 else played[:, seat]
        same = to_numpy(engine.used(mine, seat=seat)) == used[:, seat]
        require(same.all(), f"{where}: used(seat={seat}) differs from used()")


def the_critic_sees_what_it_should(trial: Trial) -> None:
    """`critic` matches `facts.critic_spec`; without a kernel it is the observations of all seats, beginning with one's own."""
    facts, spec = trial.facts, trial.facts.critic_spec
    for step, engine in trial.positions(6):
        where, seen = f"step {step}", look(engine).observations.reshape(trial.games, facts.players, -1)
        every = np.stack([to_numpy(engine.critic(seat=seat)) for seat in range(facts.players)], axis=1)
        shape = (trial.games, facts.players, spec.size)
        require(every.shape == shape, f"{where}: critic() has shape {every.shape}, must be {shape}")
        require(every.dtype == spec.dtype, f"{where}: critic() is {every.dtype}, must be {spec.dtype}")
        inside = (every >= spec.low) & (every <= spec.high)
        for game, seat, entry in np.argwhere(~inside)[:1]:
            value = every[game, seat, entry]
            require(
                False,
                f"{where}, game {game}, seat {seat}: critic()[{entry}] is {value}, must lie in {spec.low}..{spec.high}",
            )
        mover = to_numpy(engine.critic())
        seats = np.asarray(look(engine).next_seat, np.int64)
        expected = every if facts.simultaneous else every[np.arange(trial.games), seats]
        require((mover == expected).all(), f"{where}: critic() differs from critic(seat)")
        some = to_numpy(engine.critic(seat=0, rows=[0]))
        require((some == every[:1, 0]).all(), f"{where}: critic(rows=...) differs from critic()")
        if spec.bits:
            packed = to_numpy(engine.critic(seat=0, packed=True))
            require(
                (packed == np.packbits(every[:, 0], axis=1)).all(),
                f"{where}: packed critic() differs from numpy.packbits of it",
            )
        if facts.critic is None:
            turned = [np.roll(seen, -seat, axis=1).reshape(trial.games, -1) for seat in range(facts.players)]
            require(
                (every == np.stack(turned, axis=1)).all(), f"{where}: critic() is not the observations of all seats"
            )
