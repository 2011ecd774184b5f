"""The parts of a game: `Rules`, `Look`, `Analysis` and `Records`, and what they are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from ludory.errors import PluginError

if TYPE_CHECKING:
    from .recorded_game import RecordedHeader

T = TypeVar("T")
# Any, since each game has fields of its own. A protocol with `__getattr__` would check none of them either, and would refuse
# `ExternalState` and the NamedTuples that authors write for their states.
State = Any
"""A `NamedTuple` of arrays, one per field, first axis = game: NumPy arrays on the CPU, torch tensors on CUDA."""


def unknown_keyword(what: str, name: str, spellings: Mapping[str, str]) -> TypeError:
    """The error of a keyword that `what` does not take; `spellings` are those that it takes, and what to type for each."""
    near = get_close_matches(name, spellings, 1)
    hint = f"did you mean {spellings[near[0]]}?" if near else f"it takes {', '.join(spellings.values())}"
    return TypeError(f"{what}({name}=): unknown keyword; {hint}")


def _names_nearest(part: type[T]) -> type[T]:
    """Let the constructor of a dataclass name the nearest keyword where one is unknown."""
    cls: Any = part
    init, spellings = cls.__init__, {one.name: f"{one.name}=" for one in fields(cls)}

    @wraps(init)
    def __init__(self: T, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        unknown = [name for name in kwargs if name not in spellings]
        if unknown:
            raise unknown_keyword(part.__name__, unknown[0], spellings)
        init(self, *args, **kwargs)

    cls.__init__ = __init__
    return part


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
    """True: one array for all games of an engine instead of one per game, such as a bank of levels. Its values are `Rules.shared`, else `fill`.

    `shape` is the shape of the whole array. Kernels read `state.name[...]` without the game's number and cannot write to it. It is
    copied to a device once, and snapshots hold only its hash.
    """


class Kernels(NamedTuple):
    """The scalar kernels of a game, each decorated with `ludory.envs.kernels`.

    `i` is the number of the game in the batch::

        reset(state, i)                  start row i's next game; the values of reset options are already in the state
        step(state, i, action)           play; action: int (one head), [H] (several heads) or [P, H] (simultaneous);
                                         rewards[i] arrive as 0; writes rewards[i], terminated[i], truncated[i], to_move[i] (also when the game ends: the seat that would move)
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


@_names_nearest
@dataclass(frozen=True, slots=True)
class Rules:
    """How a game is played: by kernels, compiled functions over one row of the state, or by an engine of its own.

    It has either `kernels` and the `fields` that they work on, or `engine`.
    """

    fields: Mapping[str, Field] = field(default_factory=dict)
    """dtype and shape of every field of the state, of a game with kernels. The header fields, which `header(players)` returns, are among them:
    random int64 (4,), to_move int32 (), rewards float32 (P,), terminated bool (), truncated bool ()."""
    kernels: Kernels | None = None
    start: Callable[[Mapping[str, Any], int], dict[str, NDArray[Any]]] | None = None
    """`start(options, count) -> {field: array [count, ...]}` converts `reset(options=...)` to field values; raises `OptionError`."""
    consistent: Callable[[State], NDArray[np.bool_]] | None = None
    """`consistent(state)`: bool (N,), whether the games of a saved state (NumPy arrays within their bounds) can be continued.

    It checks what kernels rely on and the bounds of single fields cannot express. None: there is nothing to check.
    """
    shared: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Arrays of the shared fields, by name."""
    ignores_waiting: bool = False
    """Whether a seat that waits may give any action in range, which is ignored; otherwise it must be legal, as for other seats."""
    engine: Callable[..., Any] | None = None
    """Makes the `Engine` of a game whose rules run elsewhere; usually a subclass of `ludory.envs.ExternalEngine`.

    Called as `engine(game, num_games=, seed=, first_game=, threads=, device=, **engine_options)`.
    """
    engine_options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the engine, such as `workers`, by name. They change how a game runs, not the game.

    The game's factory sets the defaults; `make_game` and `make_engine` accept other values by name.
    """


def _number(head: int, value: int) -> str:
    return str(value)


def _nothing(*_: Any) -> dict[str, Any]:
    return {}


class FactNames(NamedTuple):
    """The words that a public fact may be, by which the `info` of a view has numbers in their place."""

    names: tuple[str, ...]
    length: int | None = None
    """None: the fact is one word. Else it is a list of up to so many, and `info` has an array of this length."""

    def numbers(self, told: str | Iterable[str | None] | None) -> int | NDArray[np.int64]:
        """Index of a word in `names`, -1 for None; of a list, int64 (length,) with -1 behind its end.

        Raises:
            PluginError: a word is not in `names`.
        """
        if self.length is None:
            return self._number(told)
        numbers = [self._number(word) for word in told or ()]
        return np.array(numbers + [-1] * (self.length - len(numbers)), np.int64)

    def _number(self, word: object) -> int:
        if word is None:
            return -1
        try:
            return self.names.index(word)
        except ValueError:
            said = f"a public fact is {word!r}; must be one of {', '.join(map(repr, self.names))}"
            raise PluginError(said) from None


@_names_nearest
@dataclass(frozen=True, slots=True)
class Look:
    """A game as people see it: names, public facts, pictures, moves in words.

    The functions read states of NumPy arrays; `ludory.envs.state_on_host` makes one of the state of an engine on a GPU.
    """

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
    text: Callable[[State, int, int | None], str] | None = None
    """`text(state, i, seat)`: picture with ANSI colours, as `seat` sees the game; seat None: everything is visible."""
    svg: Callable[[State, int, int | None], str] | None = None
    """`svg(state, i, seat)`: one self-contained SVG document, likewise. Elements that stand for actions of `seat` may say so
    (`ludory.envs.pictures.clickable`): `ludory serve` then plays what is clicked in the picture."""
    last_move: Callable[[State, int], str] | None = None
    """`last_move(state, i)`: the last move in words, with what it revealed to everybody; "" before the first."""
    told_move: Callable[[State, State, int, int | None], str] | None = None
    """`told_move(before, after, i, seat)`: the last move in words as `seat` knows it (None: everything), for games whose state alone
    does not tell what happened. Whoever shows a game move by move uses it in the place of `last_move`."""
    pace: float = 2.0
    """Decisions per second at which people can follow the game: the frame rate of `render_fps` and of videos."""

    @property
    def one_info(self) -> bool:
        """Whether all seats have the same info."""
        return self.seat_info is _nothing


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


@_names_nearest
@dataclass(frozen=True, slots=True)
class Analysis:
    """What is known of a game beyond its rules, for learners and for exact computations."""

    rooms: Rooms | None = None
    """Rooms by seed and split, for puzzles."""
    progress: Callable[[State], Any] | None = None
    """`progress(state)`: float (N, P), how far each seat has come. Training may reward its changes (`shaping`); results never include it."""
    symmetry: Callable[[np.random.Generator], Symmetry] | None = None
    """`symmetry(generator)`: a random renaming under which the game stays the same. None: none is known."""
    chance: Chance | None = None
    """The distribution of random draws. None: there are no draws, or it is not known; the game tree cannot be enumerated then."""
    decision_kinds: DecisionKinds | None = None
    """Kinds of decisions for the reports of behaviour cloning; for games with one head."""


@_names_nearest
@dataclass(frozen=True, slots=True)
class Records:
    """What checkpoints and recordings keep of a game, so that they are not taken for those of another."""

    conventions: Mapping[str, str] = field(default_factory=dict)
    """What the numbers of observations and actions mean beyond their shapes, by name; see `check_conventions`. Checkpoints keep it.

    That of a `Game` includes what `engine_conventions` return.
    """
    engine_conventions: Mapping[str, Callable[[Any], Mapping[str, str]]] = field(default_factory=dict)
    """Conventions that depend on an option of the engine, such as the version of rules that it plays by: a function of its value, by its name."""
    playing_options: tuple[str, ...] = ()
    """Options of the factory that say how games are played and not what recorded decisions mean: data with other values can be learnt from."""
    header: RecordedHeader | None = None
    """The header of the recorded games that this game was made from, if its rules are not installed; see `Game.of_header`."""
