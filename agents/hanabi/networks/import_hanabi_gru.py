"""Conversion between checkpoints of HIKARU's PPO-GRU (`HanabiGRUPolicy`) and `HanabiGruPolicy`: names, shapes and action ids.

Its training environment numbers plays before discards and has the colours R Y G B W; its search has plays first and the colours R Y G W B.
Ludory has discards first and R Y G W B. Observations are the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import torch
from torch import Tensor, nn

from ludory.agents import GruPolicy, ImportedPolicy, Policy, PolicySpec, build_policy, refuse_not_finite
from ludory.agents.networks.build import complete
from ludory.atomic import atomic_file
from ludory.envs import Game, GameFacts, make_game
from ludory.envs.hanabi.variants import ObservationName
from ludory.errors import CheckpointError, DataError, OptionError
from ludory.reading import check_zip

from .hanabi_gru import HanabiGruPolicy

ACTION_ORDERS = ("play_first_bw", "play_first", "ludory")
OBSERVATIONS: tuple[str, ...] = get_args(ObservationName)
NAMES = {
    "obs_fe.0.weight": "encoder.0.weight",
    "obs_fe.0.bias": "encoder.0.bias",
    "seat_emb.weight": "seat_embedding.weight",
    "prev_other_emb.weight": "action_embedding.weight",
    "prev_self_emb.weight": "own_action_embedding.weight",
    "gru.weight_ih_l0": "gru.weight_ih",
    "gru.weight_hh_l0": "gru.weight_hh",
    "gru.bias_ih_l0": "gru.bias_ih",
    "gru.bias_hh_l0": "gru.bias_hh",
    "pi.weight": "logits.weight",
    "pi.bias": "logits.bias",
    "v.weight": "value.weight",
    "v.bias": "value.bias",
}
"""Name there -> name here."""
BY_ACTION = ("prev_other_emb.weight", "prev_self_emb.weight", "pi.weight", "pi.bias")
"""Tensors whose rows are action ids; embeddings have one more row, last, for "none"."""
OWN_ACTION = "prev_self_emb.weight"
"""Present only in networks that receive their own last move."""


def import_hanabi_gru(
    file: str | Path,
    action_order: str = "play_first_bw",
    observation: str | None = None,
    game: str = "Hanabi2P-v0",
    **options: Any,
) -> ImportedPolicy:
    """The network of a checkpoint, converted to Ludory's action ids. No code in the file is run.

    Args:
        file: what `torch.save` wrote: a dict with "model", or the state dict itself.
        action_order: how the file numbers actions: "play_first_bw" (its training), "play_first" (its search) or "ludory".
        observation: the observation it was trained on; optional if only one has its length.
        game: id of the Hanabi that it plays.
        **options: of that game.

    Raises:
        OptionError: an invalid argument, or the observation must be named.
        CheckpointError: the file cannot be read, has other tensors, or they do not fit the game.
    """
    _check_order(action_order)
    tensors = read_state_dict(file)
    made = _game(file, tensors["obs_fe.0.weight"].shape[-1], observation, game, options)
    facts = made.facts
    spec = complete(PolicySpec("hanabi_gru", _sizes(tensors)), {})
    policy = build_policy(spec, facts)
    assert isinstance(policy, HanabiGruPolicy)
    _check_shapes(file, tensors, policy, made)
    refuse_not_finite(file, tensors)
    # the last row of an embedding is "no move", which has no action id
    places = torch.tensor([*action_ids(action_order, facts), facts.num_actions])
    for name, tensor in tensors.items():
        policy.get_parameter(NAMES[name]).data.copy_(_reorder(tensor, places) if name in BY_ACTION else tensor)
    return ImportedPolicy(policy, spec, made)


def export_hanabi_gru(
    policy: Policy, game: Game, file: str | Path, action_order: str = "play_first_bw"
) -> dict[str, Tensor]:
    """Write a network as `torch.save` of {"model": state dict}; `import_hanabi_gru` and HIKARU's search read it. Returns the state dict.

    Args:
        policy: a `HanabiGruPolicy`, or a `GruPolicy`, which is written as one that ignores its seat and the last move.
        game: that it plays.
        file: to write.
        action_order: numbering of actions in the file, as in `import_hanabi_gru`.

    Raises:
        OptionError: an invalid argument, or that project has no such network.
        OutputError: the file cannot be written.
    """
    _check_order(action_order)
    tensors = to_state_dict(policy, game.facts, action_order)
    with atomic_file(file) as handle:
        torch.save({"model": tensors}, handle)
    return tensors


def to_state_dict(policy: Policy, facts: GameFacts, action_order: str) -> dict[str, Tensor]:
    """Copies of the weights, with the names and action ids of that project.

    Raises:
        OptionError: that project has no such network.
    """
    if isinstance(policy, GruPolicy):
        policy = _with_embeddings(policy, facts)
    if not isinstance(policy, HanabiGruPolicy):
        raise OptionError(
            f"policy {policy.id!r}: a HanabiGRUPolicy has the layers of 'hanabi_gru' or 'gru' only; train with --policy hanabi_gru"
        )
    own = {name: parameter.detach().cpu() for name, parameter in policy.named_parameters()}
    if policy.previous == "others" or own.keys() - set(NAMES.values()):
        raise OptionError(
            f"policy 'hanabi_gru' with {len([name for name in own if name.startswith('encoder.')]) // 2} hidden layers and "
            f"previous={policy.previous!r}: a HanabiGRUPolicy has one hidden layer, and previous='seen' or 'all'"
        )
    places = torch.tensor([*action_ids(action_order, facts), facts.num_actions])
    found = {}
    for name, here in NAMES.items():
        if here in own:
            tensor = own[here]
            # a slice, since logits have one row less than embeddings
            found[name] = tensor[places[: len(tensor)]] if name in BY_ACTION else tensor.clone()
    return found


def _with_embeddings(policy: GruPolicy, facts: GameFacts) -> HanabiGruPolicy:
    """The same network with embeddings of seat and last move, which are 0.

    Raises:
        OptionError: its layers before the memory are others than one of ReLU.
    """
    layers = [part.out_features for part in policy.encoder if isinstance(part, nn.Linear)]
    if len(layers) != 1 or not isinstance(policy.encoder[1], nn.ReLU):
        activation = type(policy.encoder[1]).__name__.lower()
        raise OptionError(
            f"policy 'gru' with {len(layers)} hidden layers and activation={activation!r}: a HanabiGRUPolicy has one hidden layer, of relu; "
            'train with --policy "gru(hidden=(256,))" or hanabi_gru'
        )
    padded = HanabiGruPolicy(facts, layers, policy.memory_size)
    # what the policy lacks stays 0, so the inputs that it never had change nothing
    weights = {name: torch.zeros_like(tensor) for name, tensor in padded.state_dict().items()} | policy.state_dict()
    missing = padded.gru.input_size - policy.gru.input_size
    # the added embeddings come last in the input of the GRU
    weights["gru.weight_ih"] = nn.functional.pad(weights["gru.weight_ih"], (0, missing))
    padded.load_state_dict(weights)
    return padded


def _check_order(action_order: str) -> None:
    if action_order not in ACTION_ORDERS:
        raise OptionError(f"action_order={action_order!r}: must be one of {', '.join(ACTION_ORDERS)}")


def action_ids(action_order: str, facts: GameFacts) -> list[int]:
    """Ludory's id of each action id in `action_order`."""
    if action_order == "ludory":
        return list(range(facts.num_actions))
    length = {segment.name: segment.length for segment in facts.segments}
    hand, colors, ranks = length["last_slot"], length["last_color"], length["last_rank"]
    order = list(range(colors))
    if action_order == "play_first_bw" and colors == 5:
        order[3], order[4] = 4, 3
    plays, discards = range(hand, 2 * hand), range(hand)
    hints = 2 * hand
    color_hints = [hints + ahead * colors + color for ahead in range(facts.players - 1) for color in order]
    first_rank = hints + (facts.players - 1) * colors
    return [*plays, *discards, *color_hints, *range(first_rank, first_rank + (facts.players - 1) * ranks)]


def read_state_dict(file: str | Path) -> dict[str, Tensor]:
    """The tensors of a checkpoint under their original names.

    Raises:
        CheckpointError: unreadable, contains more than plain values and tensors, or tensors are missing or unexpected (all are listed).
    """
    try:
        check_zip(file, sums=True)
        content = torch.load(file, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise CheckpointError(f"{file}: no such file") from error
    except DataError as error:
        raise CheckpointError(str(error)) from error
    except Exception as error:  # torch raises many kinds of errors on damaged data
        # PyTorch's own message would recommend unsafe loading.
        raise CheckpointError(
            f"{file}: not a file of tensors that can be read without running code from it, or damaged; nothing was loaded. "
            "Save its state dict alone: torch.save(model.state_dict(), file)"
        ) from error
    tensors = content.get("model", content) if isinstance(content, dict) else content
    if not isinstance(tensors, Mapping) or not all(isinstance(tensor, Tensor) for tensor in tensors.values()):
        raise CheckpointError(f"{file}: must hold a state dict, or a dict with one under 'model'; got {_kind(content)}")
    _check_names(file, tensors)
    for name, tensor in tensors.items():
        if tensor.dim() != (2 if name.endswith("weight") or "weight_" in name else 1):
            raise CheckpointError(f"{file}: {name} has {tensor.dim()} dimensions, weights have two and biases one")
    return dict(tensors)


def _kind(content: Any) -> str:
    return f"a dict of {', '.join(map(str, content))}" if isinstance(content, dict) else f"a {type(content).__name__}"


def _check_names(file: str | Path, tensors: Mapping[str, Tensor]) -> None:
    missing, extra = (
        sorted(NAMES.keys() - tensors.keys() - {OWN_ACTION}),
        sorted(map(str, tensors.keys() - NAMES.keys())),
    )
    if missing or extra:
        lists = [f"{what} {', '.join(names)}" for what, names in (("missing:", missing), ("extra:", extra)) if names]
        raise CheckpointError(f"{file}: not a HanabiGRUPolicy; {'; '.join(lists)}")


def _game(file: str | Path, size: int, observation: str | None, game: str, options: Mapping[str, Any]) -> Game:
    """The game with the observation that the network was trained on."""
    if observation == "rich":
        raise OptionError(
            "observation='rich': knowledge masked by the cards in sight is a private variant of that project, its encoder is not public "
            "and Ludory has none; import a network trained on card_knowledge, minimal or seer"
        )
    if observation is not None and observation not in OBSERVATIONS:
        raise OptionError(f"observation={observation!r}: must be one of {', '.join(OBSERVATIONS)}")
    games = {name: make_game(game, **{**options, "observation": name}) for name in OBSERVATIONS}
    plain = make_game(game, **options)
    games[plain.facts.observation.name] = plain  # the default observation is not named in the options
    fitting = [name for name, made in games.items() if made.facts.observation.size == size]
    if observation is None and len(fitting) > 1:
        raise OptionError(
            f"{file}: reads {size} entries, as do {', '.join(fitting)} (and the private 'rich'); say which with observation="
        )
    chosen = fitting[0] if observation is None and fitting else observation
    if chosen not in fitting:
        lengths = ", ".join(f"{name} {made.facts.observation.size}" for name, made in games.items())
        raise CheckpointError(f"{file}: reads {size} entries; observations of {game} have: {lengths}")
    return games[chosen]


def _sizes(tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    return {
        "hidden": (len(tensors["obs_fe.0.weight"]),),
        "memory_size": tensors["gru.weight_hh_l0"].shape[-1],
        "seat_size": tensors["seat_emb.weight"].shape[-1],
        "action_size": tensors["prev_other_emb.weight"].shape[-1],
        "previous": "all" if OWN_ACTION in tensors else "seen",
    }


def _check_shapes(file: str | Path, tensors: Mapping[str, Tensor], policy: HanabiGruPolicy, game: Game) -> None:
    wrong = [
        f"{name} is {tuple(tensor.shape)}, must be {wanted}"
        for name, tensor in tensors.items()
        if tuple(tensor.shape) != (wanted := tuple(policy.get_parameter(NAMES[name]).shape))
    ]
    if wrong:
        raise CheckpointError(
            f"{file}: does not fit {game.id} with {game.facts.num_actions} actions: {'; '.join(wrong)}"
        )


def _reorder(tensor: Tensor, places: Tensor) -> Tensor:
    """Rows reordered from the file's ids to Ludory's."""
    reordered = torch.empty_like(tensor)
    reordered[places[: len(tensor)]] = tensor
    return reordered
