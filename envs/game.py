"""What a game is: `GameFacts`, `Kernels`, and the frozen `Game` that every view is made from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ludory.errors import OptionError, PluginError

if TYPE_CHECKING:
    from ludory.plugins import Registry

    from .text_codec import TextCodec

T = TypeVar("T")
State = Any
"""A `NamedTuple` of arrays, one per field, first axis = game: NumPy arrays on the CPU, torch tensors on CUDA."""


class Head(NamedTuple):
    """One categorical part of an action, with `size` values."""

    name: str
    size: int


class Box(NamedTuple):
    """A continuous action of D numbers; entry d lies in low[d]..high[d], which may be infinite."""

    low: tuple[float, ...]
    high: tuple[float, ...]


class Segment(NamedTuple):
    """A named range of entries of the flat observation."""

    name: str
    start: int
    length: int


@dataclass(frozen=True, slots=True)
class ObservationSpec:
    """Shape and meaning of what a seat sees. Observations in which every entry is 0 or 1 (`bits`) are stored eight to a byte."""

    name: str
    shape: tuple[int, ...]
    dtype: Literal["uint8", "float32"]
    segments: tuple[Segment, ...]
    low: float = 0.0
    """Smallest value, possibly -inf."""
    high: float = 1.0
    """Largest value, possibly inf."""

    @property
    def size(self) -> int:
        """Number of entries, the product of `shape`."""
        return math.prod(self.shape)

    @property
    def bits(self) -> bool:
        """True if every entry is 0 or 1."""
        return self.dtype == "uint8" and self.low == 0 and self.high == 1


@dataclass(frozen=True, slots=True)
class GameFacts:
    """What a caller may need to know about a game without running it."""

    name: str
    players: int
    turns: Literal["sequential", "simultaneous"]
    reward: Literal["shared", "zero_sum", "general"]
    hidden_information: bool
    chance: bool
    heads: tuple[Head, ...]
    observation: ObservationSpec
    longest_game: int
    """Upper bound on the number of decisions (sequential) or rounds (simultaneous) of one game."""
    min_return: float
    """Smallest return that a seat can end with. An illegal action costs it under `illegal="lose"`."""
    max_return: float
    privileged_observation: bool = False
    """True if the observation shows hidden information on purpose. Such a variant is not tested for leaks."""
    critic: ObservationSpec | None = None
    """What the `critic` kernel writes, flat. None: the game has no such kernel, see `critic_spec`."""
    teams: tuple[int, ...] = ()
    """Team of every seat, where the seats of a team always have the same return. Empty: no teams, or all seats share rewards."""
    box: Box | None = None
    """Continuous actions. `heads` is then empty, actions are float32 (N, D), and legal masks have no columns."""
    clones: bool | None = None
    """Whether `Engine.clone` and `Engine.gather` exist, which searches need. None: only in games with kernels."""
    redeals: bool | None = None
    """Whether `Engine.redeal` exists. None: if there is a `redeal` kernel."""
    saves: bool | None = None
    """Whether `Engine.fields`, `load_fields`, `save` and `restore` exist, so that running games can be saved. None: only in games with kernels."""
    seats_leave: bool | None = None
    """Whether a seat may be out before the game ends. None: follows from the fields, see `Game.seats_leave`."""
    seats_wait: bool | None = None
    """Whether a seat to move may have nothing to decide, as in simultaneous games. None: follows from the fields, see `Game.seats_wait`."""
    network: str | None = None
    """Id of the network that policy="auto" makes, where hidden layers over the observation are not the right one."""

    @property
    def head_sizes(self) -> tuple[int, ...]:
        """Number of values of each head."""
        return tuple(head.size for head in self.heads)

    @property
    def head_names(self) -> tuple[str, ...]:
        """Name of each head."""
        return tuple(head.name for head in self.heads)

    @property
    def num_actions(self) -> int:
        """Length A of a legal mask: the sum of the head sizes."""
        return sum(self.head_sizes)

    @property
    def action_size(self) -> int:
        """Length of one seat's action: H heads, or the D numbers of `box`."""
        return len(self.heads) if self.box is None else len(self.box.low)

    @property
    def num_outputs(self) -> int:
        """Outputs of a policy network: a logit per column of a legal mask, or a mean per entry of `box`."""
        return self.num_actions if self.box is None else len(self.box.low)

    @property
    def critic_spec(self) -> ObservationSpec:
        """What `Engine.critic` returns: `critic`, or the observations of all seats side by side, shape (P * size,)."""
        return self.critic or _of_every_seat(self.observation, self.players)

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Named segments of the flat observation."""
        return self.observation.segments

    @property
    def simultaneous(self) -> bool:
        """True if all seats move at once."""
        return self.turns == "simultaneous"


def _of_every_seat(spec: ObservationSpec, players: int) -> ObservationSpec:
    segments = tuple(
        Segment(f"{segment.name} of seat + {ahead}", ahead * spec.size + segment.start, segment.length)
        for ahead in range(players)
        for segment in spec.segments
    )
    return ObservationSpec(
        f"{spec.name} of every seat", (players * spec.size,), spec.dtype, segments, spec.low, spec.high
    )


class Field(NamedTuple):
    """dtype, shape per game, initial value and bounds of one state field.

    The bounds hold between two calls of an engine, also before the first `reset`. Saved states outside them are refused.
    A field that a kernel uses as an index, a count or the limit of a loop needs both bounds: kernels check nothing.
    """

    dtype: str
    shape: tuple[int, ...] = ()
    fill: Any = 0
    low: Any = None
    """Smallest value, or an array that broadcasts to `shape`. None: the smallest of the dtype. Floats are always finite."""
    high: Any = None
    """Largest value, in the same form as `low`."""
    shared: bool = False
    """True: one array for all games of an engine instead of one per game, such as a bank of levels. Its values are `Game.shared`, else `fill`.

    `shape` is the shape of the whole array. Kernels read `state.name[...]` without the game's number and cannot write to it. It is
    copied to a device once, and snapshots hold only its hash.
    """


class Kernels(NamedTuple):
    """The scalar kernels of a game, each decorated with `ludory.envs.kernels`.

    `i` is the number of the game in the batch::

        reset(state, i)                  start row i's next game; the values of reset options are already in the state
        step(state, i, action)           play; action: int (one head), [H] (several heads) or [P, H] (simultaneous);
                                         writes rewards[i], terminated[i], truncated[i], to_move[i] (also when the game ends: the seat that would move)
                                         and, where the game has them, the fields of `elimination`
        legal(state, i, seat, mask)      set mask[a] = True for the legal a; mask [A] arrives all False; a seat that is out has one legal value per head
        observe(state, i, seat, out)     write what the seat sees; out [size] arrives all 0
        redeal(state, i, seat)           draw anew what the seat does not know, from its exact conditional distribution; None where that is impossible
        used(state, i, seat, action, out)  set out[h] = True for the heads of this action [H] (an array, also of one head) whose value has an effect;
                                         out [H] arrives all False; None: all heads have one
        critic(state, i, seat, out)      write what a value function may see in training, including hidden information; out [facts.critic.size] arrives all 0;
                                         None: the observations of all seats, `seat`'s first, then seat + 1, ...
    """

    reset: Callable[..., None]
    step: Callable[..., None]
    legal: Callable[..., None]
    observe: Callable[..., None]
    redeal: Callable[..., None] | None = None
    used: Callable[..., None] | None = None
    critic: Callable[..., None] | None = None


class Symmetry(NamedTuple):
    """A renaming under which a game stays the same: seeing o and playing a is equivalent to seeing o' and playing a'."""

    observation: NDArray[np.int64]
    """(size,): entry k of o' is entry observation[k] of o."""
    actions: NDArray[np.int64]
    """(A,): column a of a mask becomes column actions[a]. A column stays within its head."""


class Outcomes(NamedTuple):
    """Everything that chance may do at one point of a game: K outcomes, which differ in the values of some fields."""

    probabilities: NDArray[np.float64]
    """(K,), positive; they sum to 1."""
    fields: Mapping[str, NDArray[Any]]
    """Values of these fields in each outcome, (K, ...). All other fields are the same in all outcomes."""


class Chance(NamedTuple):
    """The distribution that a game's random draws come from, for exact computations such as `ludory.exploitability`.

    Outcomes that no seat can ever tell apart, such as suits that do not matter, may be given as one.
    """

    start: Callable[[], Outcomes]
    """`start()`: what `reset` may draw."""
    step: Callable[[State, int, int], Outcomes | None] | None = None
    """`step(state, i, action)`: what `step` may draw when `action` is played in game i, where `state` is the one before; None: nothing.

    The fields are set after the step, so that rewards and the end of the game may be among them. None: only `reset` draws.
    """


class Rooms(Protocol):
    """The rooms of a puzzle: starts that are drawn by seed, told apart by hash, and split by hash (`ludory.envs.rooms`)."""

    def draw(self, seeds: NDArray[np.int64], split: str | None = None) -> Mapping[str, NDArray[Any]]:
        """Values of reset options, one per seed (n,): equal seeds have equal rooms on every machine. `split`: only rooms of that split."""

    def hashes(self, options: Mapping[str, NDArray[Any]]) -> NDArray[np.uint64]:
        """(n,): the hash of each room that `draw` returned."""


class DecisionKinds(Protocol):
    """Kinds of decisions, whose accuracy learners report apart, and a rule of thumb that they are compared with. m decisions of one seat each."""

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the G groups; a decision may be in several."""

    @property
    def rules(self) -> tuple[str, ...]:
        """Name of the rule of thumb; () if there is none."""

    def members(
        self, observations: NDArray[Any], masks: NDArray[np.bool_], actions: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """(m, G): the groups of decisions with observations (m, size), legal masks (m, A) and actions (m,) of the one head."""

    def choices(self, observations: NDArray[Any], masks: NDArray[np.bool_]) -> NDArray[np.int64]:
        """(m,): what the rule of thumb plays."""


def _number(head: int, value: int) -> str:
    return str(value)


def _nothing(*_: Any) -> dict[str, Any]:
    return {}


class FactNames(NamedTuple):
    """The words that a public fact may be, by which the `info` of a view has numbers in their place."""

    names: tuple[str, ...]
    length: int | None = None
    """None: the fact is one word. Else it is a list of up to so many, and `info` has an array of this length."""

    def numbers(self, told: Any) -> int | NDArray[np.int64]:
        """Index of a word in `names`, -1 for None; of a list, int64 (length,) with -1 behind its end.

        Raises:
            PluginError: a word is not in `names`.
        """
        if self.length is None:
            return self._number(told)
        numbers = [self._number(word) for word in told or ()]
        return np.array(numbers + [-1] * (self.length - len(numbers)), np.int64)

    def _number(self, word: str | None) -> int:
        if word is None:
            return -1
        if word not in self.names:
            raise PluginError(f"a public fact is {word!r}; must be one of {', '.join(map(repr, self.names))}")
        return self.names.index(word)


@dataclass(frozen=True, slots=True)
class Game:
    """A game: facts, state layout, kernels, pictures. Everything else in Ludory is a view of it.

    A game has either kernels, compiled functions over one row of the state, or an engine of its own.

    fields: of a game with kernels: dtype and shape of every field of the state, the header fields included:
        random int64 (4,), to_move int32 (), rewards float32 (P,), terminated bool (), truncated bool (). `header(players)` returns these.

    start: converts `reset(options=...)` to field values: `start(options, count) -> {field: array [count, ...]}`; raises `OptionError`.
    """

    facts: GameFacts
    fields: Mapping[str, Field] = field(default_factory=dict)
    kernels: Kernels | None = None
    action_name: Callable[[int, int], str] = _number
    """`action_name(head, value)`, e.g. "play 5"."""
    info: Callable[[State, int], dict[str, Any]] = _nothing
    """`info(state, i)`: public facts of row i, for people and for the `info` of a view; nothing that the seat to move may not know.

    A view shows numbers, with the same keys, shapes and dtypes from `reset` to the end: bool, int and float as they are, lists of them as
    arrays, words by `fact_names`. It leaves out what else there is, such as texts.
    """
    fact_names: Mapping[str, FactNames] = field(default_factory=dict)
    """The words that facts of `info` may be, by key. A fact that is missing is -1 in a view."""
    seat_info: Callable[[State, int, int], dict[str, Any]] = _nothing
    """`seat_info(state, i, seat)`: what only the info of `seat` shows beside `info`."""
    ignores_waiting: bool = False
    """Whether a seat that waits may give any action in range, which is ignored; otherwise it must be legal, as for other seats."""
    start: Callable[[Mapping[str, Any], int], dict[str, NDArray[Any]]] | None = None
    text: Callable[[State, int, int | None], str] | None = None
    """`text(state, i, seat)`: picture with ANSI colours, as `seat` sees the game; seat None: everything is visible."""
    svg: Callable[[State, int, int | None], str] | None = None
    """`svg(state, i, seat)`: one self-contained SVG document, likewise. Elements that stand for actions of `seat` may say so
    (`ludory.envs.pictures.clickable`): `ludory serve` then plays what is clicked in the picture."""
    codec: TextCodec | None = None
    """For language models."""
    rooms: Rooms | None = None
    """Rooms by seed and split, for puzzles."""
    last_move: Callable[[State, int], str] | None = None
    """`last_move(state, i)`: the last move in words, with what it revealed to everybody; "" before the first."""
    told_move: Callable[[State, State, int, int | None], str] | None = None
    """`told_move(before, after, i, seat)`: the last move in words as `seat` knows it (None: everything), for games whose state alone
    does not tell what happened. Whoever shows a game move by move uses it in the place of `last_move`."""
    consistent: Callable[[State], NDArray[np.bool_]] | None = None
    """`consistent(state)`: bool (N,), whether the games of a saved state (NumPy arrays within their bounds) can be continued.

    It checks what kernels rely on and the bounds of single fields cannot express. None: there is nothing to check.
    """
    progress: Callable[[State], Any] | None = None
    """`progress(state)`: float (N, P), how far each seat has come. Training may reward its changes (`shaping`); results never include it."""
    symmetry: Callable[[np.random.Generator], Symmetry] | None = None
    """`symmetry(generator)`: a random renaming under which the game stays the same. None: none is known."""
    pace: float = 2.0
    """Decisions per second at which people can follow the game: the frame rate of `render_fps` and of videos."""
    chance: Chance | None = None
    """The distribution of random draws. None: there are no draws, or it is not known; the game tree cannot be enumerated then."""
    decision_kinds: DecisionKinds | None = None
    """Kinds of decisions for the reports of behaviour cloning; for games with one head."""
    shared: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Arrays of the shared fields, by name."""
    id: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Id and keyword options that `make_game` was called with: enough to make the same game again."""
    family: str = ""
    """Name of the rules that several ids share, such as "hanabi". What packages offer for a game (`hook`) is registered under its family,
    else under its id."""
    engine: Callable[..., Any] | None = None
    """Makes the `Engine` of a game whose rules run elsewhere; usually a subclass of `ludory.envs.engine.external.ExternalEngine`.

    Called as `engine(game, num_games=, seed=, first_game=, threads=, device=, **engine_options)`.
    """
    engine_options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the engine, such as `workers`, by name. They change how a game runs, not the game.

    The game's factory sets the defaults; `make_game` and `make_engine` accept other values by name.
    """
    conventions: Mapping[str, str] = field(default_factory=dict)
    """What the numbers of observations and actions mean beyond their shapes, by name; see `check_conventions`. Checkpoints keep it."""
    engine_conventions: Mapping[str, Callable[[Any], Mapping[str, str]]] = field(default_factory=dict)
    """Conventions that depend on an option of the engine, such as the version of rules that it plays by: a function of its value, by its name.

    They are part of `conventions`.
    """
    playing_options: tuple[str, ...] = ()
    """Options of the factory that say how games are played and not what recorded decisions mean: data with other values can be learnt from."""
    recorded: Any = None
    """The header of the recorded games that this game was made from, if its rules are not installed; see `of_header`."""

    def __post_init__(self) -> None:
        if (self.kernels is None) == (self.engine is None):
            got = "neither" if self.kernels is None else "both"
            raise PluginError(f"game {self.facts.name!r}: got {got}; give Game(...) either `kernels` or `engine`")
        told = dict(self.conventions)
        for name, conventions in self.engine_conventions.items():
            told |= conventions(self.engine_options[name])
        object.__setattr__(self, "conventions", told)

    def __deepcopy__(self, memo: dict[int, object]) -> Game:
        return self  # nothing of it changes

    def __reduce__(self) -> tuple[Any, ...]:
        from .make import pickled

        return pickled(self)

    def __repr__(self) -> str:
        return f"<Game {self.name}: {', '.join(f'{key} {value}' for key, value in self._described().items())}>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{key}</th><td>{escape(value)}</td></tr>" for key, value in self._described().items())
        return f"<table><tr><th>game</th><td>{escape(self.name)}</td></tr>{rows}</table>"

    def _described(self) -> dict[str, str]:
        """What a person wants to know of the game first."""
        facts, seen = self.facts, self.facts.observation
        actions = f"{facts.action_size} numbers" if facts.box is not None else " x ".join(map(str, facts.head_sizes))
        described = {
            "seats": f"{facts.players}",
            "turns": facts.turns,
            "reward": facts.reward.replace("_", "-"),
            "actions": actions,
            "observation": f"{seen.name} {'x'.join(map(str, seen.shape))}",
        }
        return described | (
            {"options": ", ".join(f"{k}={v!r}" for k, v in self.options.items())} if self.options else {}
        )

    @property
    def name(self) -> str:
        """The id, or the name in `facts` if there is none."""
        return self.id or self.facts.name

    @property
    def kept_engine_options(self) -> dict[str, Any]:
        """Options of the engine on which conventions depend; checkpoints keep them."""
        return {name: self.engine_options[name] for name in self.engine_conventions}

    @property
    def clones(self) -> bool:
        """True if `Engine.clone` and `Engine.gather` exist."""
        return self.kernels is not None if self.facts.clones is None else self.facts.clones

    @property
    def saves(self) -> bool:
        """True if `Engine.fields`, `load_fields`, `save` and `restore` exist."""
        return self.kernels is not None if self.facts.saves is None else self.facts.saves

    @property
    def shared_names(self) -> tuple[str, ...]:
        """Names of the fields that all games share."""
        return tuple(name for name, spec in self.fields.items() if spec.shared)

    @property
    def redeals(self) -> bool:
        """True if `Engine.redeal` exists."""
        if self.facts.redeals is not None:
            return self.facts.redeals
        return self.kernels is not None and self.kernels.redeal is not None

    @property
    def tells_used(self) -> bool:
        """True if some heads of an action may have no effect; `Engine.used` returns which have one."""
        return self.kernels is not None and self.kernels.used is not None

    @property
    def seats_leave(self) -> bool:
        """True if a seat may be out before the game ends. `Engine.alive` and `Engine.seat_terminated` then differ between seats."""
        return "alive" in self.fields if self.facts.seats_leave is None else self.facts.seats_leave

    @property
    def seats_wait(self) -> bool:
        """True if a living seat that would move may have nothing to decide; in simultaneous games `Engine.deciding` then differs from `alive`."""
        return "deciding" in self.fields if self.facts.seats_wait is None else self.facts.seats_wait

    @staticmethod
    def of_header(header: Any) -> Game:
        """The game of recordings whose rules are not installed, from a header such as `TrajectoryDataset(path).header`.

        Offline learners accept it. Playing it raises a PluginError that says what to install.
        """
        from .recorded_game import game_of_header

        return game_of_header(header)

    def has_kernel(self, name: str, function: Callable[..., Any]) -> bool:
        """True if the kernel `name` is `function`; agents for one game recognise it this way."""
        return self.kernels is not None and getattr(self.kernels, name) is function

    def hook(self, registry: Registry[Callable[..., object]], kind: type[T]) -> T | None:
        """What a package offers for this game: `make(game)`, where `make` is registered under the family, else under the id.

        None if nothing is registered, or if `make` returns None: the family's hook does not fit these rules.

        Raises:
            PluginError: the hook cannot be imported, or returns something else than a `kind`.
        """
        name = next((name for name in (self.family, self.id) if name in registry), None)
        made = None if name is None else registry.load(name)(self)
        if made is not None and not isinstance(made, kind):
            got = type(made).__name__
            raise PluginError(
                f"{registry.kind} {name!r} returned a {got} for {self.name}, must return a {kind.__name__} or None"
            )
        return made

    def needed_kernels(self, who: str) -> Kernels:
        """The kernels, which `who` needs.

        Raises:
            OptionError: the game has no kernels, since its rules run elsewhere.
        """
        if self.kernels is None:
            raise OptionError(
                f"{who} needs compiled rules; {self.name} has none (its rules run elsewhere): choose a game with kernels"
            )
        return self.kernels

    def need(self, who: str, *abilities: Literal["clones", "redeals", "saves", "heads"]) -> None:
        """Check that the game's engine has the `abilities` that `who` needs.

        Raises:
            OptionError: it lacks one of them.
        """
        has = {
            "clones": self.clones,
            "redeals": self.redeals,
            "saves": self.saves,
            "heads": self.facts.box is None,
        }
        for ability in abilities:
            if not has[ability]:
                needs, reason, cure = _ABILITIES[ability]
                why = f" ({reason})" if self.kernels is None else ""
                raise OptionError(f"{who} needs games {needs}; {self.name} cannot{why}: {cure}")


_ELSEWHERE = "its rules run elsewhere"
_ABILITIES = {
    "clones": ("that can be copied", _ELSEWHERE, "choose a game with kernels, or an agent that does not search"),
    "redeals": ("that can be redealt", _ELSEWHERE, "choose a game with a `redeal` kernel"),
    "saves": ("that can be saved while they run", _ELSEWHERE, "choose a game with kernels"),
    "heads": ("with categorical actions", "its actions are continuous", "choose a game with heads"),
}


def header(players: int) -> dict[str, Field]:
    """The fields that every state has: random, to_move, rewards, terminated and truncated."""
    return {
        "random": Field("int64", (4,)),
        "to_move": Field("int32", low=0, high=players - 1),
        "rewards": Field("float32", (players,)),
        "terminated": Field("bool"),
        "truncated": Field("bool"),
    }


def elimination(players: int) -> dict[str, Field]:
    """Fields of a simultaneous game in which seats may be out before it ends: 0 or 1 per seat (int8: Numba has no bool arrays in records).

    alive (P,): the seat is still in the game. `reset` sets 1 for all seats; `step` sets 0 for seats that are out, until the next reset.
    seat_terminated (P,): the seat left the game in the last decision. `reset` sets 0 for all seats; `step` writes it for all seats.
    When the game terminates, it is 1 for all seats that were alive before.
    """
    return {
        "alive": Field("int8", (players,), 1, low=0, high=1),
        "seat_terminated": Field("int8", (players,), low=0, high=1),
    }


def waiting(players: int) -> dict[str, Field]:
    """Field of a simultaneous game in which living seats may have nothing to decide: 0 or 1 per seat (int8).

    deciding (P,): the seat must act in the next step. `reset` and `step` write it for all seats. A waiting seat has one legal value
    per head, and its action has no effect. All seats may wait at once; the game is then stepped with any legal actions.
    """
    return {"deciding": Field("int8", (players,), 1, low=0, high=1)}


def flat_segments(parts: Mapping[str, int]) -> tuple[Segment, ...]:
    """Consecutive segments; `parts` maps each name to its length."""
    segments, start = [], 0
    for name, length in parts.items():
        segments.append(Segment(name, start, length))
        start += length
    return tuple(segments)
