"""`OBL`: off-belief learning, in which a policy learns as if the past had been played by a simpler one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ludory.agents import Policy
from ludory.algorithms.config import playing_seats
from ludory.algorithms.sampling.lanes import Lanes, make_lanes, played
from ludory.algorithms.sampling.sampler import Played, Sampler
from ludory.envs import Engine, make_engine
from ludory.envs.chance import EPISODE
from ludory.errors import OptionError

from .config import OBLConfig
from .ppo import PPO


class PastMove(NamedTuple):
    """The last move of a batch of N games: the games before it, who moved (N,), and the actions."""

    games: Engine
    seats: NDArray[np.int64]
    actions: NDArray[np.int64]


class OBL(PPO):
    """Off-belief learning (Hu et al. 2021, arXiv 2103.04000) by PPO: one level, over a base policy that others have played so far.

    At each decision what the seat cannot know is drawn anew from its belief if the past was played by the base policy; in this world the
    chosen action is played, the others answer with the current policy, and the decision is paid what it brings up to the seat's
    next turn, and the value of what the seat sees there. The real game goes on with the same action. So no convention of the
    current policy can tell anything about the past: only moves that are good under the base policy's beliefs are learnt.

    Args:
        policy, env, config: as `PPO`; without `base` this is level 1, whose base plays uniformly at random.

    Raises:
        OptionError: the game cannot be redealt or its seats do not share their reward, or the network has a memory.
    """

    id = "obl-v1"
    samples_in = None
    config_class: ClassVar[type[OBLConfig]] = OBLConfig
    inputs: ClassVar[tuple[str, ...]] = ("init_from", "base")
    changeable: ClassVar[tuple[str, ...]] = ()
    teacher_weight = None
    config: OBLConfig

    @property
    def _teacher_file(self) -> str | None:
        # kept, and recognised by its hash, as a teacher is
        return self.config.base

    def _open_source(self) -> None:
        game, config = self.game, self.config
        game.needed_kernels("obl")
        game.need("obl", "clones", "redeals", "heads")
        if game.facts.simultaneous or game.facts.reward != "shared" or not game.facts.hidden_information:
            raise OptionError(
                f"obl needs a game with hidden information in which seats take turns and share their reward, such as Hanabi2P-v0; "
                f"{game.name} is none"
            )
        if playing_seats(game.facts, config.seats, config.others)[0] != "all":
            raise OptionError(f"obl: seats={config.seats!r}, others={config.others!r}: all seats learn; leave both out")
        self.engine = make_engine(game, config.num_envs, device=config.device, seed=config.seed)
        lanes = make_lanes(game, self.engine, "all", "random")
        self.sampler = OffBeliefSampler(lanes, config.precision, worlds=config.worlds, doubt=config.doubt)

    def setup(self) -> None:
        """As `PPO.setup`."""
        super().setup()
        if self.policy.recurrent or self.policy.uses_previous:
            raise OptionError(
                f"obl: {self.policy.id} remembers moves, which a drawn world does not have; take policy='mlp'"
            )

    def iterate(self, on_step: Callable[[], bool]) -> Mapping[str, float] | None:
        """As `PPO.iterate`, on decisions that are paid in drawn worlds; scores are those of the real games."""
        assert isinstance(self.sampler, OffBeliefSampler)
        self.sampler.base = self._learn_from_teacher()
        found = super().iterate(on_step)
        return None if found is None else {**found, **self.sampler.metrics()}


class OffBeliefSampler(Sampler):
    """A sampler of one lane per game whose decisions are paid in worlds that are drawn from what their seats believe.

    Args:
        lanes: every seat of a game with a shared reward.
        precision: as `Sampler`.
        worlds: drawn for a decision, of which one is kept, where there is a base policy.
        doubt: share of the base policy's moves that are taken for random.
    """

    base: Policy | None = None
    """The policy that is believed to have played so far; None: one that plays at random, whose moves tell nothing but their outcome."""

    def __init__(self, lanes: Lanes, precision: str, worlds: int, doubt: float) -> None:
        super().__init__(lanes, precision)
        self._worlds, self._doubt = worlds, doubt
        # the last move of each other seat
        self._past: deque[PastMove] = deque(maxlen=lanes.facts.players - 1)
        self._effective: list[float] = []

    def play(self, policy: Policy, steps: int, *arguments: Any, **keywords: Any) -> Played:
        """As `Sampler.play`. A rollout begins without a past, so that a resumed run has the same draws."""
        self._past.clear()
        self._effective.clear()
        if self.base is not None:
            self.begin(policy)
            self.teacher.prepare(self.base, self.typical(self.lanes.observe()))
        return super().play(policy, steps, *arguments, **keywords)

    def metrics(self) -> dict[str, float]:
        """`obl/effective_worlds`: effective number of the worlds drawn for a decision, (sum w)^2 / sum w^2, in the last rollout."""
        return {"obl/effective_worlds": float(np.mean(self._effective))} if self._effective else {}

    def foresee(self, policy: Policy, joint: Tensor, generator: torch.Generator) -> dict[str, Tensor | None]:
        """As `Sampler.foresee`: reward up to the seat's next turn in a drawn world, the value there, and whether the game ended before."""
        seats, actions = np.array(self.engine.to_move), played(joint)
        world = self._drawn(seats, generator)
        world.step(actions)
        rewards = torch.from_numpy(np.array(world.rewards[:, 0]))
        # the others answer with the current policy until it is the seat's turn again
        while len(rows := np.flatnonzero((world.to_move >= 0) & (world.to_move != seats))):
            movers = torch.from_numpy(np.array(world.to_move)[rows]).long()
            seen = self._seen(world, None, rows)
            logits = self.player.peek(seen, torch.from_numpy(rows), movers).logits
            answers, _ = policy.draw(logits, torch.from_numpy(world.legal()[rows]), generator)
            world.step(played(answers), rows)
            rewards += torch.from_numpy(world.rewards[:, 0])
        values = self.player.peek(
            self._seen(world, seats, None), self.lanes.games, torch.from_numpy(seats).long()
        ).values
        ended = torch.from_numpy(np.array(world.terminated))
        if self.base is not None:
            self._past.append(PastMove(self.engine.clone(), seats, np.array(actions)))
        return {
            "rewards": rewards,
            "next_values": values.masked_fill(ended, 0.0),
            "terminated": ended,
            "truncated": torch.from_numpy(np.array(world.truncated)) & ~ended,
        }

    def _seen(self, world: Engine, seats: NDArray[np.int64] | None, rows: NDArray[np.int64] | None) -> Tensor:
        bits = self.lanes.facts.observation.bits
        seen = torch.from_numpy(world.observe(seats, rows, packed=bits)).flatten(1)
        return seen if bits else seen.float()

    def _drawn(self, seats: NDArray[np.int64], generator: torch.Generator) -> Engine:
        """The games with what `seats` (N,) cannot know drawn anew, once for each game."""
        seed = int(torch.randint(1 << 31, (), generator=generator))
        if self.base is None or not self._past:
            world = self.engine.clone()
            world.redeal(seats, seed)
            return world
        games, count = self.engine.num_games, self._worlds
        rows = np.repeat(np.arange(games), count)
        now, drawn = self.engine.gather(rows), self.engine.gather(rows)
        drawn.redeal(seats[rows], seed)
        likelihood = torch.zeros(games * count)
        for past in self._past:
            likelihood += self._log_likelihood(past, now, drawn, rows)
        # importance resampling: a world is kept with probability proportional to that of the moves that were seen
        weights = likelihood.view(games, count).softmax(1)
        self._effective.append(float((1 / weights.square().sum(1)).mean()))
        kept = weights.multinomial(1, generator=generator).squeeze(1)
        return drawn.gather(np.arange(games) * count + kept.numpy())

    def _log_likelihood(self, past: PastMove, now: Engine, drawn: Engine, rows: NDArray[np.int64]) -> Tensor:
        """(m,) logarithm of the probability of a move in drawn worlds, up to a constant; 0 where it was made in an earlier game."""
        then = carried_back(past.games.gather(rows), now, drawn)
        same_game = past.games.state.random[:, EPISODE] == self.engine.state.random[:, EPISODE]
        movers = past.seats[rows]
        assert self.base is not None
        where, acted = (
            torch.from_numpy(movers).long(),
            torch.from_numpy(past.actions.reshape(len(past.actions), -1))[rows],
        )
        logits = self.teacher.peek(self._seen(then, movers, None), torch.from_numpy(rows), where).logits
        masks = torch.from_numpy(then.legal())
        likely = self.base.distribution(logits, masks).log_prob(acted).sum(-1).exp()
        # a policy that never errs would leave no world after a move that it does not make
        random = 1 / masks.sum(-1).clamp(min=1)
        found: Tensor = ((1 - self._doubt) * likely + self._doubt * random).log() * torch.from_numpy(same_game[rows])
        return found


def carried_back(before: Engine, now: Engine, drawn: Engine) -> Engine:
    """The games `before`, with what is hidden as it is in `drawn`.

    An entry of the state that has changed since then keeps its old value, every other one gets that of the drawn world. This is exact
    where what is hidden stays in its place when others move, as the own hand does in Hanabi. Random draws to come are undefined.

    Args:
        before: m games before a move; changed and returned.
        now: the same games after it.
        drawn: these, with what a seat does not know drawn anew.
    """
    past, present, other = (one.fields() for one in (before, now, drawn))
    before.load_fields(
        {name: np.where(part == present[name], other[name], part) for name, part in past.items()}, check=False
    )
    return before
