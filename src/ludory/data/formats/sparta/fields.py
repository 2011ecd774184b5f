"""One record of a search log, with each of its fields checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from ludory.data import Record
from ludory.data.formats.json_fields import FieldError, boolean, count, finite, is_count
from ludory.data.formats.json_records import LARGEST
from ludory.envs import Game, make_game
from ludory.envs.hanabi.variants import ObservationName
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
"""Counts are stored as int32, ids as int64."""
WIDE = ("game_id", "range_size")
NUMBERS = ("rollouts", "range_size", "contradictions", "score_so_far", "stacks", "lives")
FIELDS = {"q": "Q_values", "q_stderr": "Q_stderr", "q_count": "Q_count"} | {
    name: name for name in ("action_blueprint", *BOOLEANS, *NUMBERS, "gain")
}
"""Column of `search_columns` -> field of a record."""


class LoggedDecision(NamedTuple):
    """A decision as it is logged, with actions in the order of the file."""

    place: str
    game: tuple[int, int]
    """Number of the file, and id of the game in it."""
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
    """The return from here on, as the record has it."""
    found: dict[str, Any]
    """Further results of the search, by column."""


Complain = Callable[[str, object, str], None]
"""Called with the field, what was found and what is allowed."""


def read_step(record: Record, file: int, game: Game, complain: Complain) -> LoggedDecision | None:
    """Check a record; returns None if any field is wrong, after complaining about all of them."""
    content, facts, actions = record.content, game.facts, game.facts.num_actions
    failed: list[FieldError] = []

    # all fields are checked before the record is refused, so that its author hears of everything at once
    def tried(check: Callable[..., Any], *args: Any) -> Any:  # None: not given, or wrong
        try:
            return check(*args)
        except FieldError as bad:
            failed.append(bad)
            complain(bad.field, bad.got, bad.wanted)
            return None

    missing = [name for name in REQUIRED if name not in content]
    if missing:
        complain(missing[0], f"no {', '.join(missing)}", "there")
        return None
    id, t = (tried(_count, content, name) for name in ("game_id", "t"))
    seat = tried(_seat, content["seat"], facts.players)
    observation = tried(_observation, content["obs_vec"], game)
    mask = tried(_mask, content, actions)
    action, blueprint = (tried(_action, content, name, actions, mask) for name in ("action_sparta", "action_blueprint"))
    previous = tried(_previous, content.get("prev_other_action"), actions)
    reward = tried(finite, content["reward"], "reward")
    value = tried(_finite_or_none, content, "return")
    done = tried(boolean, content["done"], "done")
    q, q_stderr = (tried(_numbers, content, name, actions) for name in ("Q_values", "Q_stderr"))
    # the search must at least have valued what it chose
    if q is not None and action is not None and np.isnan(q[action]):
        failed.append(FieldError("Q_values", f"null at action_sparta {action}", "a number there"))
        complain("Q_values", failed[-1].got, failed[-1].wanted)
    found = {name: tried(_count, content, name) for name in NUMBERS if content.get(name) is not None}
    found |= {name: tried(_strictly_boolean, content[name], name) for name in BOOLEANS if name in content}
    found["gain"] = tried(_finite_or_none, content, "gain")
    found["q_count"] = tried(_whole_numbers, content, "Q_count", actions)
    if failed:
        return None
    known = {name: one for name, one in found.items() if one is not None}
    return LoggedDecision(
        place=record.place,
        game=(file, id),
        t=t,
        seat=seat,
        observation=observation,
        mask=mask,
        action=action,
        reward=reward,
        done=done,
        previous=previous,
        blueprint=blueprint,
        q=q,
        q_stderr=q_stderr,
        value=value,
        found=known,
    )


def _count(content: dict[str, Any], name: str) -> int:
    return count(content[name], name, MOST_ID if name in WIDE else MOST)


def _seat(value: Any, players: int) -> int:
    if not is_count(value) or value >= players:
        raise FieldError("seat", shown(value), f"a seat 0..{players - 1}")
    return int(value)


def _previous(value: Any, actions: int) -> int | None:
    if value is not None and not is_count(value, actions):
        raise FieldError("prev_other_action", shown(value), f"an integer 0..{actions}, {actions} for none")
    return None if value is None else int(value)


def _strictly_boolean(value: Any, field: str) -> bool:
    if type(value) is not bool:
        raise FieldError(field, shown(value), "true or false")
    return value


def _finite_or_none(content: dict[str, Any], name: str) -> float | None:
    return None if content.get(name) is None else finite(content[name], name)


def _observation(values: object, game: Game) -> NDArray[Any]:
    spec, field = game.facts.observation, "obs_vec"
    numbers = _as_numbers(values)
    if numbers is None:
        got = "entries that are no numbers" if isinstance(values, list) else shown(values)
        raise FieldError(field, got, "a list of numbers")
    if len(numbers) != spec.size:
        got = f"{len(numbers)} entries{_variant_of_length(len(numbers), game)}"
        raise FieldError(field, got, f"{spec.size} ({spec.name})")
    finite_entries = np.isfinite(numbers)
    if not finite_entries.all():
        entry = int(finite_entries.argmin())
        raise FieldError(field, f"{numbers[entry]} at entry {entry}", "finite")
    bits = np.isin(numbers, (0, 1))
    if spec.bits and not bits.all():
        entry = int(bits.argmin())
        raise FieldError(field, f"{numbers[entry]:g} at entry {entry}", f"0 or 1 ({spec.name})")
    return numbers.astype(np.uint8 if spec.bits else np.float32)


def _as_numbers(values: object) -> NDArray[Any] | None:
    if not isinstance(values, list):
        return None
    try:
        # ragged lists raise, numbers beyond int64 overflow
        array = np.array(values)
    except (ValueError, OverflowError):
        return None
    # an empty list has no kind of its own
    return array.astype(np.float64) if array.ndim == 1 and (array.dtype.kind in "iuf" or not values) else None


def _variant_of_length(length: int, game: Game) -> str:
    # the author may have named the wrong variant; its length tells
    options = {name: value for name, value in game.options.items() if name != "observation"}
    sizes = {
        one: make_game(game.id, **options, observation=one).facts.observation.size for one in get_args(ObservationName)
    }
    found = [name for name, size in sizes.items() if size == length]
    if found:
        return f", the length of {' and '.join(found)}"
    return f", the length of no variant of {game.id}; name another game"


def _mask(content: dict[str, Any], actions: int) -> NDArray[np.bool_]:
    """Legal actions (A,), given as 0 and 1 for each or as a list of ids; where both are given, they must agree."""
    flags, ids = content.get("legal_mask"), content.get("legal_action_ids")
    if flags is None and ids is None:
        raise FieldError("legal_mask", "neither legal_mask nor legal_action_ids", "one of them")
    masks: list[NDArray[np.bool_]] = []
    if flags is not None:
        numbers = _as_numbers(
            # true and false count as 1 and 0, other things do not
            [int(one) if isinstance(one, bool) else one for one in flags] if isinstance(flags, list) else None
        )
        if numbers is None or len(numbers) != actions or not np.isin(numbers, (0, 1)).all():
            got = f"{len(flags)} values" if isinstance(flags, list) and len(flags) != actions else shown(flags)
            raise FieldError("legal_mask", got, f"{actions} values, each 0 or 1")
        masks.append(numbers.astype(bool))
    if ids is not None:
        are_ids = isinstance(ids, list) and all(is_count(one, actions - 1) for one in ids)
        if not are_ids or len(set(ids)) < len(ids):
            raise FieldError("legal_action_ids", shown(ids), f"different ids 0..{actions - 1}")
        masks.append(np.isin(np.arange(actions), ids))
    # with one of the two given, both names mean it
    if not np.array_equal(masks[0], masks[-1]):
        got = f"{ids}, but legal_mask has {np.flatnonzero(masks[0]).tolist()}"
        raise FieldError("legal_action_ids", got, "the same")
    if not masks[0].any():
        raise FieldError("legal_mask", "no legal action", "a mask with a legal action")
    return masks[0]


def _action(content: dict[str, Any], field: str, actions: int, mask: NDArray[np.bool_] | None) -> int | None:
    value = content.get(field)
    if value is None and field not in REQUIRED:
        return None
    if not is_count(value, actions - 1):
        raise FieldError(field, shown(value), f"an integer 0..{actions - 1}")
    if mask is not None and not mask[value]:
        legal = ", ".join(map(str, np.flatnonzero(mask)))
        raise FieldError(field, f"{value}, which is not legal", f"among {legal}")
    return value


def _numbers(content: dict[str, Any], field: str, size: int) -> NDArray[np.float32] | None:
    """(size,) numbers, NaN for null; None if the field is absent or null."""
    values = content.get(field)
    if values is None:
        return None
    allowed = f"{size} numbers, null where there is none"
    if not isinstance(values, list) or len(values) != size:
        raise FieldError(field, f"{len(values)} values" if isinstance(values, list) else shown(values), allowed)
    if not all(one is None or (type(one) in (int, float) and abs(one) <= LARGEST) for one in values):
        raise FieldError(field, shown(values), allowed)
    return np.array([np.nan if one is None else one for one in values], np.float32)


def _whole_numbers(content: dict[str, Any], field: str, size: int) -> NDArray[np.int32] | None:
    """(size,) counts, 0 for null; None if the field is absent or null."""
    numbers = _numbers(content, field, size)
    if numbers is None:
        return None
    # NaN stands for "not tried" and counts as 0
    known = numbers[~np.isnan(numbers)]
    odd = known[(known < 0) | (known > MOST) | (known % 1 != 0)]
    if len(odd):
        raise FieldError(field, f"{odd[0]:g}", f"{size} numbers of at least 0, whole ones of at most {MOST}")
    return np.nan_to_num(numbers).astype(np.int32)
