"""Properties of rewards, of the ends of games, and of seats that are out before or that wait (`Engine.deciding`)."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ludory.testing.random_moves import RandomMoves, head_parts
from ludory.testing.recording import Array, Moment, compare, look, same_state
from ludory.testing.trial import Trial, require


def games_end_in_time(trial: Trial) -> None:
    """No game takes more decisions (rounds, if simultaneous) than `facts.longest_game`; to_move is -1 only at the end."""
    facts = trial.facts
    for step, moment in enumerate(trial.recording.moments):
        late = np.flatnonzero(~moment.over)
        require(
            step < facts.longest_game or not len(late),
            f"step {step}: game {late[:1]} goes on, longest_game is {facts.longest_game}",
        )
        seats = np.where(moment.over, -1, 0 if facts.simultaneous else moment.to_move)
        wrong = np.flatnonzero((moment.to_move != seats) | (seats >= facts.players) | ((seats < 0) & ~moment.over))
        for game in wrong:
            over = "over" if moment.over[game] else "running"
            require(False, f"step {step}, game {game} is {over}: to_move is {moment.to_move[game]}")


def seats_take_turns(trial: Trial) -> str | None:
    """Remark if only one seat ever moves, which is allowed but rarely intended."""
    if trial.facts.simultaneous or trial.facts.players == 1:
        return None
    movers = {int(seat) for moment in trial.recording.moments for seat in moment.to_move[~moment.over]}
    if len(movers) > 1:
        return None
    return f"in {trial.games} random games only seat {movers.pop()} moved: does `step` write state.to_move[i]?"


def rewards_are_of_the_declared_kind(trial: Trial) -> None:
    """Returns are equal if rewards are shared, and within a team; sum to 0 if zero_sum; and lie within min_return..max_return."""
    facts, moments = trial.facts, trial.recording.moments
    shape = (trial.games, facts.players)
    for step, moment in enumerate(moments):
        require(
            moment.rewards.shape == shape, f"step {step}: rewards have shape {moment.rewards.shape}, must be {shape}"
        )
        require(moment.rewards.dtype == np.float32, f"step {step}: rewards are {moment.rewards.dtype}, must be float32")
        require(np.isfinite(moment.rewards).all(), f"step {step}: a reward is not finite")
    require(not moments[0].rewards.any(), "rewards are not 0 after reset")
    rewards = np.stack([moment.rewards for moment in moments]).astype(np.float64)  # (T, N, P)
    returns: Array = rewards.sum(axis=0)
    slack = 1e-5 * max(1.0, float(np.abs(rewards).sum(axis=(0, 2)).max()))  # rounding of float32 sums
    _check_kind(facts.reward, returns, slack)
    for team in sorted(set(facts.teams)):
        seats = [seat for seat, of in enumerate(facts.teams) if of == team]
        for game in np.flatnonzero(np.ptp(returns[:, seats], axis=1) > slack):
            require(
                False, f"game {game}: seats {seats} are a team, but their returns are {returns[game, seats].tolist()}"
            )
    ended = moments[-1].over
    for game in np.flatnonzero(
        ended & ((returns < facts.min_return - slack) | (returns > facts.max_return + slack)).any(axis=1)
    ):
        allowed = f"{facts.min_return}..{facts.max_return}"
        require(False, f"game {game}: returns {returns[game].tolist()}, must lie in {allowed} (min_return..max_return)")


def _check_kind(kind: str, returns: Array, slack: float) -> None:
    if kind == "shared":
        for game in np.flatnonzero(np.ptp(returns, axis=1) > slack):
            require(False, f"game {game}: reward is 'shared', but the returns are {returns[game].tolist()}")
    if kind == "zero_sum":
        for game in np.flatnonzero(np.abs(returns.sum(axis=1)) > slack):
            require(False, f"game {game}: reward is 'zero_sum', but the returns are {returns[game].tolist()}")


def finished_games_are_frozen(trial: Trial) -> None:
    """A finished game ignores actions, has reward 0 and an all-true mask, and does not change."""
    facts, choose = trial.facts, RandomMoves(trial.facts, trial.games, trial.generator("frozen"))
    for step, moment in enumerate(trial.recording.moments):
        for game in np.flatnonzero(moment.over & ~moment.masks.reshape(trial.games, -1).all(axis=1)):
            require(False, f"step {step}, game {game}: the game is over, but its mask is not all true")
    if not trial.game.clones:
        _check_frozen_at_the_end(trial, choose)
        return
    for step, engine in trial.positions(12):
        over = np.flatnonzero(look(engine).over)
        if not len(over):
            continue
        # one copy plays on, the other stays as it was
        part, frozen = engine.gather(over), engine.gather(over)
        for _ in range(2):
            part.step(choose(np.ones_like(look(engine).masks))[: len(over)])
            expected = look(frozen)
            where = f"step {step}, games {over[:8].tolist()} were over before"
            compare(facts, look(part), expected._replace(rewards=np.zeros_like(expected.rewards)), where)
            same_state(part.state, frozen.state, where, ignore=["rewards"])


def _check_frozen_at_the_end(trial: Trial, choose: RandomMoves) -> None:
    """The same for games that cannot be copied, when all are over."""
    engine, last = trial.engine(), trial.recording.moments[-1]
    for actions in trial.recording.actions:
        engine.step(actions)
    for _ in range(2):
        engine.step(choose(np.ones_like(last.masks)))
        expected = last._replace(rewards=np.zeros_like(last.rewards))
        compare(trial.facts, look(engine), expected, f"step {len(trial.recording.actions)}, all games were over before")
    engine.close()


def seats_that_are_out_stay_out(trial: Trial) -> str | None:
    """A seat is settled once, at a step in which it took part; afterwards it has no reward and one legal value per head."""
    moments = trial.recording.moments
    for step, (before, after) in enumerate(pairwise(moments), start=1):
        _check_step(before, after, f"step {step}")
    for step, moment in enumerate(moments):
        if trial.facts.simultaneous:
            _check_masks(trial, moment, ~moment.alive & ~moment.over[:, None], f"step {step}, game", "is out")
    out = sum(bool(((~moment.alive) & ~moment.over[:, None]).any()) for moment in moments)
    return None if out or not trial.game.seats_leave else f"no seat was out early in {trial.games} random games"


def _check_step(before: Moment, after: Moment, where: str) -> None:
    over = before.over[:, None]
    settled = after.seat_terminated & ~over
    for game, seat in np.argwhere(settled & ~before.alive):
        require(False, f"{where}, game {game}: seat {seat} is settled a second time")
    for game, seat in np.argwhere(after.terminated[:, None] & before.alive & ~settled):
        require(False, f"{where}, game {game} terminates: seat {seat} was alive and is not settled")
    running = ~after.over[:, None]
    for game, seat in np.argwhere(running & (after.alive != (before.alive & ~settled))):
        was = "settled" if settled[game, seat] else "not settled"
        require(False, f"{where}, game {game}: seat {seat} was {was}, but alive is {after.alive[game, seat]}")
    for game, seat in np.argwhere(~before.alive & (after.rewards != 0)):
        require(False, f"{where}, game {game}: seat {seat} was out and has the reward {after.rewards[game, seat]}")


def _check_masks(trial: Trial, moment: Moment, idle: Array, where: str, why: str) -> None:
    """Seats (N, P) that are `idle` have one legal value of each head."""
    for name, part in zip(trial.facts.head_names, head_parts(trial.facts, moment.masks), strict=True):
        for game, seat in np.argwhere(idle & (part.sum(-1) != 1)):
            count = int(part[game, seat].sum())
            wrong = f"{why} and has {count} legal values of head {name!r}, must have one"
            require(False, f"{where} {game}: seat {seat} {wrong}")


def seats_that_wait_have_no_choice(trial: Trial) -> str | None:
    """The seat to move decides; in simultaneous games, all living seats that do not wait. Waiting seats have one legal value per head."""
    facts, waited = trial.facts, False
    for step, moment in enumerate(trial.recording.moments):
        where, shape = f"step {step}", (trial.games, facts.players)
        got = f"{moment.deciding.dtype}{moment.deciding.shape}"
        require(moment.deciding.shape == shape and moment.deciding.dtype == bool, f"{where}: deciding is {got}")
        for game, seat in np.argwhere(moment.deciding & ~moment.alive):
            require(False, f"{where}, game {game}: seat {seat} decides, but it is out or the game is over")
        if not facts.simultaneous:
            expected = moment.to_move[:, None] == np.arange(facts.players)
            require((moment.deciding == expected).all(), f"{where}: deciding is not the seat to move")
            continue
        waits = moment.alive & ~moment.deciding
        waited = waited or bool(waits.any())
        for game, seat in np.argwhere(waits if not trial.game.seats_wait else np.zeros_like(waits)):
            require(
                False,
                f"{where}, game {game}: seat {seat} waits; add ludory.envs.waiting(players), or facts.seats_wait=True",
            )
        _check_masks(trial, moment, waits, f"{where}, game", "waits")
    return f"no seat waited in {trial.games} random games" if trial.game.seats_wait and not waited else None
