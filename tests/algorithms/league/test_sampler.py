"""What a league's sampler records: the learner's own decisions, each with its own result."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, cycle, repeat
from pathlib import Path

import numpy as np
import pytest
import torch
from games.external import ROUNDS, relay
from support.leagues import GAME, small_config

from ludory.agents.agent import Agent
from ludory.agents.make import make_agent
from ludory.agents.networks.build import build_policy, parse_policy
from ludory.algorithms.league.evaluator import Evaluator
from ludory.algorithms.league.lanes import OpenMatches, make_league_lanes
from ludory.algorithms.league.learner import ActivePlayer
from ludory.algorithms.league.messages import Assignment, EvaluationOrder, MatchResult
from ludory.algorithms.league.opponent_runners import Opponent, SeatObservations, make_runner
from ludory.algorithms.sampling.policy_runner import PolicyRunner
from ludory.algorithms.sampling.teacher import load_teacher
from ludory.envs.engine.protocol import Array, Engine
from ludory.envs.make import make_engine, make_game
from ludory.envs.seats.player import Memory

pytestmark = pytest.mark.plain


class Source:
    """Assigns one opponent for ever (or one after another), and keeps results."""

    aways: Iterator[str]

    def __init__(self, away: str, games: int = 3) -> None:
        self.aways, self.games, self.number = repeat(away), games, 0
        self.results: list[MatchResult] = []

    def next(self) -> Assignment:
        self.number += 1
        return Assignment(self.number, "me", next(self.aways), self.games, self.number, "test")


def learner(folder: Path, away: str, **changes: object) -> tuple[ActivePlayer, Source]:
    source = Source(away)
    game = make_game(GAME)
    config = small_config(folder, **changes)
    opponents: dict[str, Opponent] = {name: make_agent(name, game) for name in ("arena/turtle", "arena/random")}
    opponents |= {name: load_teacher(config.teacher, game, torch.device("cpu")).policy for name in ("first", "second")}
    made = ActivePlayer(
        "me",
        0,
        config,
        game,
        source.next,
        source.results.append,
        lambda id: made.policy if id == "me" else opponents[id],
        start=lambda _: config.teacher,
        teacher=config.teacher,
    )
    return made, source


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sampler")


@pytest.mark.slow
def test_against_another_only_the_own_seat_is_recorded(folder: Path) -> None:
    made, source = learner(folder, "arena/turtle")
    algorithm = made.algorithm
    rollout, stats = algorithm.sampler.collect(algorithm.policy, 700, algorithm.generator)
    assert rollout is not None
    assert rollout.starts.shape == (700, 16)
    assert rollout.valid is not None
    assert rollout.valid.all()
    assert set(rollout.seats.unique().tolist()) == {0, 1}
    # Returns of the recorded columns are those of the games that ended, and so are the letters of the matches.
    assert (rollout.rewards.sum() - stats.returns.sum()).abs() < 1e-6
    letters = "".join(result.outcomes for result in source.results)
    assert len(letters) > 10
    assert letters.count("l") > letters.count("w"), "an untrained policy loses against the turtle"


@pytest.mark.slow
def test_a_learner_resumes_to_the_same_numbers_against_players_that_draw(folder: Path) -> None:
    """A scripted one draws by the key in its memory; networks draw one after another, by the learner's own generator."""
    (made, source), (resumed, its_source) = learner(folder, "arena/random"), learner(folder, "arena/random")
    source.games, source.aways = 1, chain(["second"] * 16, cycle(("first", "arena/random", "second")))
    made.algorithm.sampler.collect(made.algorithm.policy, 500, made.algorithm.generator)
    made.save(folder / "half.ludory")
    resumed.restore(folder / "half.ludory", 0, 0, 0)
    its_source.aways, its_source.games, its_source.number = repeat("first"), 1, source.number
    source.aways = repeat("first")
    names = [made.algorithm.sampler.lanes.names, resumed.algorithm.sampler.lanes.names]
    assert sorted(names[0]) == sorted(names[1]) == ["arena/random", "first", "second"]
    assert names[0] != names[1]
    for one in (made, resumed):
        one.run_slice(256)
    for ours, theirs in zip(made.policy.parameters(), resumed.policy.parameters(), strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.slow
def test_against_itself_every_seat_is_recorded_and_rewards_cancel(folder: Path) -> None:
    made, _ = learner(folder, "me")
    algorithm = made.algorithm
    rollout, _ = algorithm.sampler.collect(algorithm.policy, 700, algorithm.generator)
    assert rollout is not None
    assert rollout.starts.shape == (700, 32)
    assert float(rollout.rewards.sum()) == pytest.approx(0)
    assert rollout.terminated.sum() > 0
    # Both seats of a game end together.
    torch.testing.assert_close(rollout.terminated[:, :16], rollout.terminated[:, 16:])
    assert (rollout.seats[:, :16] != rollout.seats[:, 16:]).all()


@pytest.mark.slow
def test_the_rewarded_step_is_a_valid_step(folder: Path) -> None:
    made, _ = learner(folder, "me")
    rollout, _ = made.algorithm.sampler.collect(made.policy, 700, made.algorithm.generator)
    assert rollout is not None
    assert rollout.valid is not None
    assert rollout.valid[rollout.rewards != 0].all()
    assert rollout.terminated[rollout.rewards != 0].all()


def test_unused_heads_are_marked(folder: Path) -> None:
    made, _ = learner(folder, "me")
    rollout, _ = made.algorithm.sampler.collect(made.policy, 50, made.algorithm.generator)
    assert rollout is not None
    assert rollout.used is not None
    interact = rollout.actions[..., 6] == 1
    assert not rollout.used[..., :6][interact].any(), "who opens a crate neither walks, aims, fires nor uses an ability"


@pytest.mark.slow
def test_opponents_change_without_mixing_up_games(folder: Path) -> None:
    made, source = learner(folder, "arena/turtle")
    algorithm = made.algorithm
    algorithm.sampler.collect(algorithm.policy, 50, algorithm.generator)
    source.aways = repeat("me")
    rollout, _ = algorithm.sampler.collect(algorithm.policy, 500, algorithm.generator)
    later, _ = algorithm.sampler.collect(algorithm.policy, 20, algorithm.generator)
    assert rollout is not None
    assert later is not None
    assert rollout.starts.shape[1] == 16
    assert later.starts.shape[1] > 16, "games against itself that began meanwhile now have a column for each seat"


@pytest.mark.slow
def test_shaping_changes_what_is_learnt_and_not_who_won(folder: Path) -> None:
    options = {"num_envs": 16, "n_steps": 8, "batch_columns": 16}
    plain, plain_source = learner(folder, "arena/turtle", learner_options=options)
    shaped, shaped_source = learner(folder, "arena/turtle", learner_options=options | {"shaping": 0.5})
    first, stats = plain.algorithm.sampler.collect(plain.policy, 200, plain.algorithm.generator)
    second, shaped_stats = shaped.algorithm.sampler.collect(shaped.policy, 200, shaped.algorithm.generator)
    assert first is not None
    assert second is not None
    assert plain_source.results == shaped_source.results
    np.testing.assert_array_equal(stats.returns, shaped_stats.returns)
    extra = (second.rewards - first.rewards).abs()
    assert 0 < float(extra.max()) <= 0.5
    assert (first.rewards != 0).sum() < (second.rewards != 0).sum()


@pytest.mark.slow
def test_evaluation_is_mirrored_and_repeats(folder: Path) -> None:
    game = make_game(GAME)
    styles = {name: make_agent(name, game) for name in ("arena/rusher", "arena/sniper", "arena/turtle")}
    orders = [
        EvaluationOrder("arena/rusher", "arena/sniper", 0, 40),
        EvaluationOrder("arena/turtle", "arena/turtle", 0, 40),
    ]
    first, again = (Evaluator(game, styles.__getitem__, seed=3).play(orders) for _ in range(2))
    assert first == again
    assert first[0].wins >= 32, "the rusher beats the sniper"
    # A style that draws nothing plays a start against itself the same from both seats: what one wins the other loses.
    mirror = first[1].outcomes
    swapped = mirror[20:].translate(str.maketrans("wl", "lw"))
    assert mirror[:20] == swapped


def test_blocks_are_other_games(folder: Path) -> None:
    game = make_game(GAME)
    styles = {name: make_agent(name, game) for name in ("arena/rusher", "arena/zone")}
    first, second = (
        Evaluator(game, styles.__getitem__, seed=3).play([EvaluationOrder("arena/rusher", "arena/zone", block, 10)])
        for block in (0, 1)
    )
    assert first[0].outcomes != second[0].outcomes
    assert len(first[0].outcomes) == 10


def test_the_memory_of_a_recurrent_opponent_goes_on_while_it_waits() -> None:
    game = replace(relay(), facts=replace(relay().facts, reward="zero_sum"))
    torch.manual_seed(1)
    policy = build_policy(parse_policy("gru(memory_size=8)"), game.facts)
    engine = make_engine(game, 3, seed=1)
    engine.reset()
    runner, wanted = make_runner(policy, engine), PolicyRunner(3, 2)
    games, generator = torch.arange(3), torch.Generator().manual_seed(1)
    runner.prepare(SeatObservations(engine).typical)
    wanted.prepare(policy, SeatObservations(engine).typical)
    while not engine.over.all():
        seen, deciding = SeatObservations(engine), torch.as_tensor(engine.deciding)
        for seat in range(2):
            seats = torch.full((3,), seat)
            with torch.no_grad():
                wanted.step(seen.observations[:, seat], games, seats)
            its = games[deciding[:, seat]]
            runner.step(seen, its, its, seats[: len(its)], generator)
            its = games[~deciding[:, seat]]
            runner.look_on(seen, its, its, seats[: len(its)])
        engine.step(np.zeros((3, 2, 1), np.int64))
    assert torch.equal(runner.state()["network"], wanted.memory)
    assert wanted.memory.abs().sum() > 0


class Looker(Agent):
    """Counts the rounds in which it decides, and those in which it looks on."""

    def __init__(self) -> None:
        self.counts = {"acts": 0, "looks on": 0}

    def act(self, observation: Array, mask: Array, memory: Memory) -> tuple[Array, Memory]:
        self.counts["acts"] += len(mask)
        return np.zeros(len(mask), np.int64), None

    def look_on(self, engine: Engine, seat: int, rows: Array, memory: Memory) -> None:
        self.counts["looks on"] += len(rows)


def test_in_evaluations_and_in_training_opponents_look_on_while_they_wait() -> None:
    game, one, other = replace(relay(), facts=replace(relay().facts, reward="zero_sum")), Looker(), Looker()
    Evaluator(game, {"one": one, "other": other}.__getitem__, seed=1).play([EvaluationOrder("one", "other", 0, 4)])
    for agent in (one, other):  # of six rounds each seat decides in two
        assert agent.counts == {"acts": 4 * ROUNDS // 3, "looks on": 4 * 2 * ROUNDS // 3}
    agent, source = Looker(), Source("one")
    lanes = make_league_lanes(
        game, make_engine(game, 4, seed=1), "me", OpenMatches(source.next, lambda _: None), {"one": agent}.__getitem__
    )
    lanes.generator = torch.Generator().manual_seed(1)
    lanes.start()
    lanes.begin()
    for _ in range(ROUNDS):
        lanes.observe()
        lanes.play(lanes.joint(torch.zeros(4, 1, dtype=torch.int64)))
    assert agent.counts == {"acts": 4 * ROUNDS // 3, "looks on": 4 * 2 * ROUNDS // 3}
