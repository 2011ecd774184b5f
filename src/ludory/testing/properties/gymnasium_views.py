"""Properties of the Gymnasium views: they show the games of the engine."""

from __future__ import annotations

from typing import Any

import numpy as np

from ludory.envs import GameEnv, GameFacts
from ludory.envs.views.common import PublicFacts
from ludory.envs.views.gymnasium_vector import GameVectorEnv
from ludory.testing.random_moves import random_moves
from ludory.testing.recording import Array, Moment, Recording, look, record, segment_place
from ludory.testing.script import PolicyDecision, ScriptedPlayer, decisions, move_of
from ludory.testing.trial import Trial, require

MANY_SEATS = 4
"""Most seats that are all followed in every game."""


def gymnasium_env_agrees(trial: Trial) -> None:
    """`GameEnv` in every seat shows the observations, masks, rewards, ends and infos of the engine, in arrays that it does not reuse."""
    seats = _seats(trial.facts)
    for number, seed in enumerate(range(trial.seed, trial.seed + 3)):
        recording = record(trial.engine(games=1, seed=seed), trial.generator(f"gymnasium {seed}"))
        infos = _infos(trial, recording, seed)
        # each of many seats is looked at in one of the games, which take longer the more seats there are
        for own in seats if len(seats) <= MANY_SEATS else seats[number::3]:
            path = decisions(trial.facts, recording, 0, own)
            if len(path) > 1:
                _follow(trial, own, recording, path, infos, seed)


def _seats(facts: GameFacts) -> list[int | None]:
    """Seats that a policy can play; None: all of them."""
    everywhere: list[int | None] = [None] if facts.reward == "shared" and not facts.simultaneous else []
    return everywhere + list(range(facts.players))


def _seating(facts: GameFacts, recording: Recording, own: int | None) -> tuple[Any, Any]:
    others = [ScriptedPlayer(facts, recording, seat, own) for seat in range(facts.players) if seat != own]
    return ("all", None) if own is None else (own, others)


def _infos(trial: Trial, recording: Recording, seed: int) -> list[dict[str, Any]]:
    """Public facts before each move of the recorded game."""
    engine = trial.engine(games=1, seed=seed)
    infos = [PublicFacts(trial.game)(engine.state, 0)]
    for actions in recording.actions:
        engine.step(actions)
        infos.append(PublicFacts(trial.game)(engine.state, 0))
    return infos


def _follow(
    trial: Trial,
    own: int | None,
    recording: Recording,
    path: list[PolicyDecision],
    infos: list[dict[str, Any]],
    seed: int,
) -> None:
    """Play the recorded game in an environment, which must show `path`."""
    facts = trial.facts
    seats, others = _seating(facts, recording, own)
    env = GameEnv(trial.game, seats=seats, others=others, illegal="raise")
    returned: list[tuple[Array, Array]] = []
    observation, info = env.reset(seed=seed)
    first = form_of(info)
    reward, terminated, truncated = path[0].reward, False, False
    for number, decision in enumerate(path):
        where = f"seed {seed}, {'all seats' if own is None else f'seat {own}'}, step {decision.step}"
        got = PolicyDecision(
            decision.step, observation, info["action_mask"], info["player"], reward, terminated, truncated
        )
        compare_decisions(facts, got, decision, where)
        require((env.action_masks() == decision.mask).all(), f"{where}: action_masks() differs from the engine's")
        compare_forms(form_of(info), first, where)
        for key, value in infos[decision.step].items():
            if not _same(info.get(key), value):
                require(False, f"{where}: info[{key!r}] is {info.get(key)!r}, the game tells {value!r}")
        returned += [(array, array.copy()) for array in (observation, info["action_mask"])]
        if number + 1 < len(path):
            action = move_of(facts, recording.actions[decision.step][0], own)
            observation, reward, terminated, truncated, info = env.step(action)
    require(
        all((array == copy).all() for array, copy in returned),
        f"seed {seed}: a later step changed an array returned before",
    )


def _same(got: object, expected: object) -> bool:
    """Whether two facts have the same type and value; NaN is itself."""
    if not isinstance(got, np.ndarray) or not isinstance(expected, np.ndarray):
        return type(got) is type(expected) and repr(got) == repr(expected)
    return got.dtype == expected.dtype and np.array_equal(got, expected, equal_nan=got.dtype.kind == "f")


def form_of(info: dict[str, Any]) -> dict[str, str]:
    """Type, and of arrays dtype and shape, of each entry of an `info`."""
    return {
        key: f"{value.dtype}{value.shape}" if isinstance(value, np.ndarray) else type(value).__name__
        for key, value in info.items()
    }


def compare_forms(got: dict[str, str], first: dict[str, str], where: str) -> None:
    """Raise ConformanceError unless an `info` has the keys, shapes and dtypes of the first one, as recorders and TorchRL need."""
    for key in sorted(got.keys() | first.keys()):
        mine, theirs = got.get(key, "missing"), first.get(key, "missing")
        cure = (
            "Look.info must tell it from reset to the end with one type and, of lists, one length; or give it FactNames"
        )
        require(mine == theirs, f"{where}: info[{key!r}] is {mine}, was {theirs} after reset; {cure}")


def compare_decisions(facts: GameFacts, got: PolicyDecision, expected: PolicyDecision, where: str) -> None:
    """Raise ConformanceError at the first difference."""
    same_form = (
        got.observation.dtype == expected.observation.dtype and got.observation.shape == expected.observation.shape
    )
    require(
        same_form,
        f"{where}: observation is {got.observation.dtype}{got.observation.shape}, the engine's {expected.observation.dtype}{expected.observation.shape}",
    )
    for entry in np.flatnonzero(got.observation != expected.observation)[:1]:
        values = f"{got.observation.flat[entry]}, the engine's {expected.observation.flat[entry]}"
        require(False, f"{where}: observation at {segment_place(facts, int(entry))} is {values}")
    for action in np.flatnonzero(got.mask != expected.mask)[:1]:
        require(False, f"{where}: mask at action {action} is {got.mask[action]}, the engine's {expected.mask[action]}")
    require(np.isclose(got.reward, expected.reward), f"{where}: reward is {got.reward}, the engine's {expected.reward}")
    for name in ("player", "terminated", "truncated"):
        mine, theirs = getattr(got, name), getattr(expected, name)
        require(mine == theirs, f"{where}: {name} is {mine}, the engine's {theirs}")


def gymnasium_vector_agrees(trial: Trial) -> None:
    """`GameVectorEnv` (SAME_STEP) shows the games of the engine row by row, and finished ones in `final_obs` and `final_info`."""
    for own in _seats(trial.facts):
        paths = [decisions(trial.facts, trial.recording, row, own) for row in range(trial.games)]
        if max(map(len, paths)) > 1:  # otherwise the policy never moves
            _follow_rows(trial, own, paths)


def _follow_rows(trial: Trial, own: int | None, paths: list[list[PolicyDecision]]) -> None:
    """Play the recorded batch in an environment, whose rows must show `paths`."""
    facts, recording = trial.facts, trial.recording
    seats, others = _seating(facts, recording, own)
    env = GameVectorEnv(trial.game, trial.games, seats=seats, others=others, illegal="raise")
    second, who = _second_games(trial), "all seats" if own is None else f"seat {own}"
    generator = trial.generator("second games")
    observation, info = env.reset(seed=trial.seed)
    reward = np.array([path[0].reward for path in paths])
    terminated = truncated = np.zeros(trial.games, bool)
    for number in range(max(map(len, paths))):
        returned = [
            (array, array.copy()) for array in (observation, info["action_mask"], reward, terminated, truncated)
        ]
        # rows without a recorded move play their second games, at random
        actions = random_moves(env.action_masks(), facts, generator)
        for row, path in enumerate(paths):
            if not 1 < len(path) > number:
                continue  # over, or over before the policy could move
            decision, ended = path[number], number + 1 == len(path)
            seen, told = (info["final_obs"], info["final_info"]) if ended else (observation, info)
            got = PolicyDecision(
                decision.step,
                seen[row],
                told["action_mask"][row],
                told["player"][row],
                reward[row],
                terminated[row],
                truncated[row],
            )
            where = f"{who}, row {row}, step {decision.step}"
            compare_decisions(facts, got, decision, where)
            if ended:
                _compare_next(facts, second, own, row, observation[row], info["action_mask"][row], where)
            else:
                actions[row] = move_of(facts, recording.actions[decision.step][row], own)
        observation, reward, terminated, truncated, info = env.step(actions)
        same = all((array == copy).all() for array, copy in returned)
        require(same, f"step {number}: a later step changed an array returned before")


def _second_games(trial: Trial) -> Moment:
    engine = trial.engine()
    engine.reset()
    return look(engine)


def _compare_next(
    facts: GameFacts, second: Moment, own: int | None, row: int, seen: Array, mask: Array, where: str
) -> None:
    """A row that was reset shows the next game of its stream, if the policy moves first there."""
    seat = int(second.next_seat[row]) if own is None else own
    if not facts.simultaneous and second.to_move[row] != seat:
        return
    expected = second.masks[row, seat] if facts.simultaneous else second.masks[row]
    require(
        (seen == second.observations[row, seat]).all(),
        f"{where}: the next game of the row has another first observation",
    )
    require((mask == expected).all(), f"{where}: the next game of the row has another first mask")
