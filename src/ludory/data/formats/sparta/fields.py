"""One record of a search log: its fields, each checked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ludory.data.formats.json_records import LARGEST, Record
from ludory.envs.game import Game
from ludory.envs.hanabi.variants import ObservationName
from ludory.envs.make import make_game
from ludory.reading import shown

REQUIRED = ("game_id", "t", "seat", "obs_vec", "action_sparta", "reward", "done")
OPTIONAL = (
    "legal_mask",
    "legal_action_ids",
    "prev_other_action",
    "action_blueprint",
    "Q_values",
    "Q_stderr",
    "return",
    "action_order",
    "bomb",
    "Q_count",
    "searches",
    "searched",
    "rollouts",
    "range_size",
    "gain",
    "contradictions",
    "score_so_far",
    "stacks",
    "lives",
)
BOOLEANS = ("searches", "searched")
MOST, MOST_ID = (1 << 31) - 1, (1 << 63) - 1
"""Of int32, in which counts are kept, and of int64, in which ids are."""
WIDE = ("game_id", "range_size")
NUMBERS = ("rollouts", "range_size", "contradictions", "score_so_far", "stacks", "lives")
FIELDS = {"q": "Q_values", "q_stderr": "Q_stderr", "q_count": "Q_count"} | {
    name: name for name in ("action_blueprint", *BOOLEANS, *NUMBERS, "gain")
}
"""Column of `search_columns` -> field of a record."""


class LoggedDecision(NamedTuple):
    """A decision as it is logged, actions in the order of the file."""

    place: str
    game: tuple[int, int]
    """Number of the file, and the id of the game in it."""
    t: int
    seat: int
    observation: NDArray[Any]
    mask: NDArray[np.bool_]
    action: int
    reward: float
    done: bool
    previous: int | None
    blueprint: int | None
    q: NDArray[np.float32] | None
    q_stderr: NDArray[np.float32] | None
    value: float | None
    """What the record says the return from here on is."""
    found: dict[str, Any]
    """What else is known of the search, by column."""


Complain = Callable[[str, object, str], None]
"""Called with field, what was got and what is allowed."""


def is_count(value: object, most: int = MOST) -> bool:
    """An integer of 0..most; True, 1.5 and "3" are none."""
    return type(value) is int and 0 <= value <= most


def read_step(record: Record, file: int, game: Game, complain: Complain) -> LoggedDecision | None:
    """The step of a record; None if anything is wrong with it, after complaints about all of it."""
    content, wrong = record.content, Counter[str]()

    def fault(field: str, got: object, allowed: str) -> None:
        wrong[field] += 1
        complain(field, got, allowed)

    missing = [name for name in REQUIRED if name not in content]
    if missing:
        fault(missing[0], f"no {', '.join(missing)}", "there")
        return None
    facts, actions = game.facts, game.facts.num_actions
    for name in ("game_id", "t"):
        _count(name, content[name], fault)
    seat = content["seat"]
    if not is_count(seat) or seat >= facts.players:
        fault("seat", shown(seat), f"a seat 0..{facts.players - 1}")
    observation = _observation(content["obs_vec"], game, fault)
    mask = _mask(content, actions, fault)
    action = _action("action_sparta", content["action_sparta"], actions, mask, fault)
    blueprint = _action("action_blueprint", content.get("action_blueprint"), actions, mask, fault)
    previous = content.get("prev_other_action")
    if previous is not None and not (is_count(previous) and previous <= actions):
        fault("prev_other_action", shown(previous), f"an integer 0..{actions}, {actions} for none")
    reward, value = (_finite(name, content.get(name), fault) for name in ("reward", "return"))
    done = content["done"]
    if type(done) is not bool and not (type(done) is int and done in (0, 1)):
        fault("done", shown(done), "true or false")
    q, q_stderr = (_numbers(name, content.get(name), actions, fault) for name in ("Q_values", "Q_stderr"))
    if q is not None and action is not None and np.isnan(q[action]):
        fault("Q_values", f"null at action_sparta {action}", "a number there")
    found = _found(content, actions, fault)
    if wrong or observation is None or mask is None or action is None or reward is None:
        return None
    key = (file, content["game_id"])
    return LoggedDecision(
        record.place, key, content["t"], seat, observation, mask, action, reward, bool(done), previous, blueprint, q, q_stderr, value, found
    )  # fmt: skip


def _found(content: dict[str, Any], actions: int, fault: Complain) -> dict[str, Any]:
    """Optional fields of the search, by column; what is absent or null is left out."""
    found: dict[str, Any] = {}
    for name in NUMBERS:
        if content.get(name) is not None:
            _count(name, content[name], fault)
            found[name] = content[name]
    for name in BOOLEANS:
        if name in content:
            if type(content[name]) is not bool:
                fault(name, shown(content[name]), "true or false")
            found[name] = content[name]
    gain, counts = (
        _finite("gain", content.get("gain"), fault),
        _numbers("Q_count", content.get("Q_count"), actions, fault),
    )
    if gain is not None:
        found["gain"] = gain
    if counts is not None:
        known = counts[~np.isnan(counts)]
        odd = known[(known < 0) | (known > MOST) | (known % 1 != 0)]
        if len(odd):
            fault("Q_count", f"{odd[0]:g}", f"{actions} numbers of at least 0, whole ones of at most {MOST}")
            return found
        found["q_count"] = np.nan_to_num(counts).astype(np.int32)
    return found


def _count(field: str, value: Any, fault: Complain) -> None:
    most = MOST_ID if field in WIDE else MOST
    if not is_count(value, most):
        fault(field, shown(value), f"an integer of at least 0, at most {most}")


def _observation(values: object, game: Game, fault: Complain) -> NDArray[Any] | None:
    spec = game.facts.observation
    numbers = _as_numbers(values)
    if numbers is None:
        fault(
            "obs_vec",
            "entries that are no numbers" if isinstance(values, list) else shown(values),
            "a list of numbers",
        )
        return None
    if len(numbers) != spec.size:
        fault(
            "obs_vec", f"{len(numbers)} entries{_variant_of_length(len(numbers), game)}", f"{spec.size} ({spec.name})"
        )
    elif not np.isfinite(numbers).all():
        fault("obs_vec", f"{numbers[~np.isfinite(numbers)][0]} at entry {(~np.isfinite(numbers)).argmax()}", "finite")
    elif spec.bits and not np.isin(numbers, (0, 1)).all():
        entry = int((~np.isin(numbers, (0, 1))).argmax())
        fault("obs_vec", f"{numbers[entry]:g} at entry {entry}", f"0 or 1 ({spec.name})")
    else:
        return numbers.astype(np.uint8 if spec.bits else np.float32)
    return None


def _as_numbers(values: object) -> NDArray[Any] | None:
    if not isinstance(values, list):
        return None
    try:
        array = np.array(values)
    except (ValueError, OverflowError):
        return None
    return array.astype(np.float64) if array.ndim == 1 and (array.dtype.kind in "iuf" or not values) else None


def _variant_of_length(length: int, game: Game) -> str:
    options = {name: value for name, value in game.options.items() if name != "observation"}
    sizes = {
        one: make_game(game.id, **options, observation=one).facts.observation.size for one in get_args(ObservationName)
    }
    found = [name for name, size in sizes.items() if size == length]
    return (
        f", the length of {' and '.join(found)}"
        if found
        else f", the length of no variant of {game.id}; name another game"
    )


def _mask(content: dict[str, Any], actions: int, fault: Complain) -> NDArray[np.bool_] | None:
    given, ids = content.get("legal_mask"), content.get("legal_action_ids")
    if given is None and ids is None:
        fault("legal_mask", "neither legal_mask nor legal_action_ids", "one of them")
        return None
    masks = []
    if given is not None:
        numbers = (
            _as_numbers([int(one) if isinstance(one, bool) else one for one in given])
            if isinstance(given, list)
            else None
        )
        if numbers is None or len(numbers) != actions or not np.isin(numbers, (0, 1)).all():
            got = f"{len(given)} values" if isinstance(given, list) and len(given) != actions else shown(given)
            fault("legal_mask", got, f"{actions} values, each 0 or 1")
            return None
        masks.append(numbers.astype(bool))
    if ids is not None:
        if (
            not isinstance(ids, list)
            or not all(is_count(one) and one < actions for one in ids)
            or len(set(ids)) < len(ids)
        ):
            fault("legal_action_ids", shown(ids), f"different ids 0..{actions - 1}")
            return None
        masks.append(np.isin(np.arange(actions), ids))
    if not np.array_equal(masks[0], masks[-1]):
        fault("legal_action_ids", f"{ids}, but legal_mask has {np.flatnonzero(masks[0]).tolist()}", "the same")
        return None
    if not masks[0].any():
        fault("legal_mask", "no legal action", "a mask with a legal action")
        return None
    mask: NDArray[np.bool_] = masks[0]
    return mask


def _action(field: str, value: Any, actions: int, mask: NDArray[np.bool_] | None, fault: Complain) -> int | None:
    if value is None and field == "action_blueprint":
        return None
    if not is_count(value) or value >= actions:
        fault(field, shown(value), f"an integer 0..{actions - 1}")
        return None
    if mask is not None and not mask[value]:
        fault(field, f"{value}, which is not legal", f"among {_listed(np.flatnonzero(mask).tolist())}")
        return None
    return int(value)


def _listed(ids: Sequence[int]) -> str:
    return ", ".join(map(str, ids))


def _finite(field: str, value: Any, fault: Complain) -> float | None:
    if value is None and field != "reward":
        return None
    if type(value) not in (int, float) or not abs(value) <= LARGEST:
        fault(field, shown(value), "a finite number")
        return None
    return float(value)


def _numbers(field: str, values: Any, count: int, fault: Complain) -> NDArray[np.float32] | None:
    """`count` numbers, NaN for null; None if there are none."""
    if values is None:
        return None
    allowed = f"{count} numbers, null where there is none"
    if not isinstance(values, list) or len(values) != count:
        fault(field, f"{len(values)} values" if isinstance(values, list) else shown(values), allowed)
        return None
    if not all(one is None or (type(one) in (int, float) and abs(one) <= LARGEST) for one in values):
        fault(field, shown(values), allowed)
        return None
    return np.array([np.nan if one is None else one for one in values], np.float32)
