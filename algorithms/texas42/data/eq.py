"""Play a hand with E[Q] at every decision and record all of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from itertools import count
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ludory.agents.texas42.expected_value.decision_value import DISTINCT_BELOW, DecisionValue, WorldSampling, value_of
from ludory.agents.texas42.expected_value.exploration import Choice, Exploration, choose
from ludory.agents.texas42.play.choice import Question, question_of
from ludory.agents.texas42.solver.solver import OpenHandValues, Solver
from ludory.data.formats.texas42 import eq_records
from ludory.data.formats.texas42.names import LAST_SEED, Asked, decl_of, split_of
from ludory.envs import Engine, hash_rows, make_engine
from ludory.envs.texas42.start import seed_deal
from ludory.envs.texas42.tiles import STRAIGHT, tiles_of
from ludory.errors import DataError, OptionError

Objective = Literal["mean", "make"]


@dataclass(frozen=True, slots=True)
class EqSettings:
    """How hands are recorded; seat 0 has the contract and leads."""

    sampling: WorldSampling = field(default_factory=WorldSampling)
    exploration: Exploration = field(default_factory=Exploration)
    objective: Objective = "mean"
    """What the greedy tile has most of: points, or the chance of the contract and then points."""
    bid: int = 30
    callable: bool = False
    """Declare only what can be called in straight 42; else the declaration is seed % 10, which 8 is not."""
    sampler_seed: int = 0
    """Of worlds and of exploration."""
    declared: Asked = None
    """Declaration of all deals, as in `decl_of`; not beside `callable`."""
    evaluator: str = Solver.name
    """`name` of what tells the values of worlds."""

    def __post_init__(self) -> None:
        """Refuse two rules of declaring.

        Raises:
            OptionError: both `declared` and `callable`.
        """
        if self.callable and self.declared is not None:
            raise OptionError(f"callable beside the declaration {self.declared!r}: leave one of them out")

    def decl(self, seed: int) -> int:
        """Declaration of a deal."""
        return STRAIGHT[seed % len(STRAIGHT)] if self.callable else decl_of(seed, self.declared)

    def header(self) -> dict[str, Any]:
        """What a file says about how it was made."""
        plain = asdict(self)
        return {
            "schema": {"q_semantics": "minimax_value_to_go", "q_units": "points", "tokenizer": "transcript_v1"},
            "evaluator": self.evaluator,
            "sampler": {
                "kind": "uniform over all worlds, by rank",
                "worlds": self.sampling.worlds,
                "seed": self.sampler_seed,
            },
            "posterior": plain["sampling"]["posterior"],
            "adaptive": self.sampling.adaptive and plain["sampling"]["adaptive"] | {"distinct_below": DISTINCT_BELOW},
            "enumeration": {"below": self.sampling.enumerate_below},
            "exploration": plain["exploration"],
            "objective": self.objective,
            "bid": self.bid,
            "callable": self.callable,
            "declared": self.declared,
            "library_versions": {"ludory": version("ludory"), "numpy": version("numpy")},
        }


def eq_names(seeds: range | None, start: int = 0) -> Iterator[eq_records.EqName]:
    """Names of the files of `seeds`, in order; endless from `start` on without them."""
    for seed in seeds if seeds is not None else count(start):
        if seed > LAST_SEED:
            return
        yield eq_records.EqName(seed)


def make_eq(file: str | Path, name: eq_records.EqName, settings: EqSettings, solver: OpenHandValues) -> int:
    """Play a deal and write its record; returns the number of decisions.

    Raises:
        OutputError: the file cannot be written.
    """
    game = record_game(name.seed, settings, solver)
    eq_records.write_eq(file, game)
    return len(game.columns["seat"])


def check_eq(file: Path, name: eq_records.EqName, settings: EqSettings) -> None:
    """Refuse a file that is damaged or was made otherwise.

    Raises:
        DataError: saying what was found and what to do.
    """
    found = eq_records.read_eq(file).header
    wanted = {key: value for key, value in settings.header().items() if key != "library_versions"} | {"seed": name.seed}
    for key, value in wanted.items():
        if found.get(key) != value:
            raise DataError(
                f"{file}: {key} is {found.get(key)}, asked for {value}; name another folder, or add --replace"
            )


def record_game(seed: int, settings: EqSettings, solver: OpenHandValues) -> eq_records.EqGame:
    """The 28 decisions of a deal; the same whatever else is recorded."""
    decl, hands = settings.decl(seed), seed_deal(seed)
    deal = [tile for hand in hands for tile in hand]
    engine = make_engine("Texas42Play-v0", 1, observation="transcript")
    engine.reset(options={"deal": deal, "decl": decl, "bid": settings.bid, "bidder": 0, "leader": 0})
    columns = eq_records.empty_columns()
    columns["game_idx"][:], columns["train_mask"][:] = seed, split_of(seed) == "train"
    columns["bid"][:] = settings.bid
    draw = np.random.default_rng([settings.sampler_seed, seed, 1])
    for decision in range(28):
        legal = engine.legal()[0]
        key = int(hash_rows(int(hash_rows(settings.sampler_seed, seed)), decision))
        question = question_of(engine.state, 0, legal, key)
        value = value_of(solver, engine.state, 0, question, settings.sampling)
        taken = choose(value.mean, _greedy(value, settings.objective), settings.exploration, draw)
        _write(columns, decision, engine, question, value, taken, hands[question.seat])
        engine.step(np.array([value.tiles[taken.place]]))
    header = {"seed": seed, "decl_id": decl, "deal": deal, "leader": 0, "bidder": 0} | settings.header()
    return eq_records.EqGame(header, columns)


def _greedy(value: DecisionValue, objective: Objective) -> int:
    """Place of the tile that the player thinks best; of equals the lowest."""
    chance = value.p_make if objective == "make" else np.zeros(len(value.tiles))
    return max(range(len(value.tiles)), key=lambda a: (chance[a], value.mean[a], -a))


def _write(
    columns: dict[str, NDArray[Any]],
    k: int,
    engine: Engine,
    question: Question,
    value: DecisionValue,
    taken: Choice,
    dealt: list[int],
) -> None:
    """Fill row k of all tensors."""
    slots = [dealt.index(tile) for tile in value.tiles]
    held = [dealt.index(tile) for tile in tiles_of(question.known.hand)]
    seen = engine.observe()[0]
    deviation = np.sqrt(value.variance)
    density = value.density()
    assert density.shape[1] == eq_records.BINS
    assert len(dealt) == eq_records.SLOTS
    row: dict[str, Any] = {
        "transcript_lengths": int(seen[0]),
        "transcript_tokens": seen[1:].reshape(eq_records.TOKENS, eq_records.FEATURES),
        "action_taken": slots[taken.place],
        "u_mean": deviation.mean(),
        "u_max": deviation.max(),
        "ess": value.weights.ess,
        "max_w": value.weights.max_w,
        "entropy": value.weights.entropy,
        "window_nll": value.weights.window_nll,
        "n_samples": value.samples,
        "worlds_total": value.worlds_total,
        "converged": value.converged,
        "exploration_mode": taken.mode,
        "q_gap": taken.q_gap,
        "banked": engine.state.points[0],
        "bidder": question.bidder,
        "seat": question.seat,
        "decision_idx": k,
    }
    for name, cell in row.items():
        columns[name][k] = cell
    columns["hand_slots"][k, : len(held)] = held
    for name, cells in {
        "e_q_mean": value.mean,
        "e_q_var": value.variance,
        "e_q_pdf": density,
        "p_make": value.p_make,
        "legal_mask": True,
    }.items():
        columns[name][k, slots] = cells
