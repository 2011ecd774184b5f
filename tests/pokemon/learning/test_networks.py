"""Networks of Pokémon battles: what permutes, what does not, and what is refused."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from ludory.agents.networks.build import build_policy, parse_policy
from ludory.agents.networks.policy import Policy
from ludory.agents.pokemon.networks.mlp import FlatMlpPolicy
from ludory.agents.pokemon.networks.rows import FLAT_SIZE, SEED41_SIZE, cut, flat_of_row
from ludory.errors import CheckpointError, OptionError

from .rows import battle_facts, random_rows

POINTER = ("pokemon/entity", "pokemon/entity-transformer")
ALL = (*POINTER, *(f'{name}(memory="gru")' for name in POINTER), "pokemon/mlp")


def network(name: str, actions: int = 14) -> Policy:
    """The network with weights of one seed, and scores far from uniform."""
    torch.manual_seed(1)
    policy = build_policy(parse_policy(name), battle_facts(actions))
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.05)
    return policy


def permuted(rows: Tensor, own: list[int], foe: list[int], menu: list[int]) -> Tensor:
    """Rows in which both teams and the menu stand in another order."""
    out, team = rows.clone(), [*own, *(6 + slot for slot in foe)]
    moves = [*menu, 4, 5, 6, 7]
    for start, stop, order, width in (
        (0, 144, team, 12),
        (144, 152, moves, 1),
        (152, 632, team, 40),
        (684, 860, moves, 22),
    ):
        out[:, start:stop] = rows[:, start:stop].view(len(rows), len(order), width)[:, order].flatten(1)
    return out


@pytest.mark.parametrize("name", POINTER)
def test_scores_permute_with_slots_and_moves_and_nothing_else_changes(name: str) -> None:
    """Pointer scores follow their Pokémon and moves; the order of the foe's team has no effect."""
    policy, rows = network(name), random_rows(16)
    own, foe, menu = [3, 5, 1, 0, 4, 2], [1, 0, 5, 4, 2, 3], [2, 0, 3, 1]
    before, after = policy(rows), policy(permuted(rows, own, foe, menu))
    order = [*menu, *(4 + slot for slot in own), *(10 + move for move in menu)]
    assert torch.allclose(after.logits, before.logits[:, order], atol=1e-4)
    assert torch.allclose(after.values, before.values, atol=1e-4)
    assert before.logits.std(0).min() > 0.01  # the comparison is not of constants


@pytest.mark.parametrize("name", POINTER)
def test_a_score_depends_on_the_pokemon_that_it_is_of(name: str) -> None:
    """Replacing a bench Pokémon changes its own score most."""
    policy, rows = network(name), random_rows(64)
    other = rows.clone()
    other[:, 4 * 12] = (rows[:, 4 * 12] + 7) % 1000 + 2  # the species of own slot 4
    other[:, 152 + 4 * 40 : 152 + 5 * 40] = 1 - rows[:, 152 + 4 * 40 : 152 + 5 * 40]
    other[:, 152 + 4 * 40], other[:, 152 + 4 * 40 + 2] = 1, 0
    change = (policy(other).logits - policy(rows).logits).abs().mean(0)
    assert change[4:10].argmax() == 4


@pytest.mark.parametrize(("actions", "groups"), [(10, 0), (14, 1), (18, 2)])
def test_gimmicks_have_scores_of_their_own(actions: int, groups: int) -> None:
    """A logit for each action of every generation; a gimmick's differ from the plain move's."""
    logits = network("pokemon/entity", actions)(random_rows(8)).logits
    assert logits.shape == (8, 10 + 4 * groups)
    for group in range(groups):
        assert not torch.allclose(logits[:, :4], logits[:, 10 + 4 * group : 14 + 4 * group], atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_every_weight_learns(name: str) -> None:
    """Each parameter gets a gradient from logits or value, and values lie in -1 to 1."""
    policy = network(name)
    rows = random_rows(512)
    output = policy.unroll(rows.view(8, 64, -1), None, torch.zeros(8, 64, dtype=torch.bool))
    (output.logits.square().sum() + output.values.square().sum()).backward()
    assert output.values.abs().max() <= 1
    assert [key for key, one in policy.named_parameters() if one.grad is None or not one.grad.any()] == []


@pytest.mark.parametrize("name", [name for name in ALL if "gru" in name])
def test_unrolling_equals_single_decisions(name: str) -> None:
    """A sequence in one call gives what decisions one by one give, also where a battle starts within it."""
    policy, rows = network(name), random_rows(5 * 3).view(5, 3, -1)
    starts = torch.zeros(5, 3, dtype=torch.bool)
    starts[0], starts[3, 1] = True, True
    whole = policy.unroll(rows, None, starts)
    memory = policy.initial_memory(3)
    for step in range(5):
        memory = memory.masked_fill(starts[step].unsqueeze(-1), 0)
        logits, values, memory = policy(rows[step], memory)
        assert torch.allclose(logits, whole.logits[step], atol=1e-5)
        assert torch.allclose(values, whole.values[step], atol=1e-5)
    assert torch.allclose(memory, whole.memory, atol=1e-5)


def test_ids_are_dropped_only_while_a_supervised_learner_trains() -> None:
    """A new network is deterministic, as PPO's ratios need; `train()` drops ids now and then."""
    policy, rows = network("pokemon/entity"), random_rows(32)
    assert torch.equal(policy(rows).logits, policy(rows).logits)
    policy.train()
    assert not torch.equal(policy(rows).logits, policy(rows).logits)


def test_an_empty_side_gives_finite_scores() -> None:
    """At team preview nobody is active, and the foe may have shown nobody."""
    rows = random_rows(4)
    pokemon = rows[:, 152:632].view(4, 12, 40)
    pokemon[..., 2], pokemon[:, 6:, 0] = 0, 0
    for name in POINTER:
        assert network(name)(rows).logits.isfinite().all()


def test_the_plain_network_reads_entity_as_flat() -> None:
    """From `entity` it computes `flat`, so both observations give the same scores."""
    torch.manual_seed(0)
    policy, rows = FlatMlpPolicy(battle_facts()), random_rows(8)
    flat = flat_of_row(cut(rows))
    assert flat.shape == (8, FLAT_SIZE)
    assert torch.equal(policy(rows).logits, policy(flat).logits)


def test_other_observations_and_vocabularies_are_refused() -> None:
    """The message says what to ask for, or that ids mean other Pokémon."""
    with pytest.raises(OptionError, match='observation="entity"'):
        build_policy(parse_policy("pokemon/entity"), battle_facts(size=SEED41_SIZE, name="seed41"))
    with pytest.raises(OptionError, match='observation="seed41"'):
        build_policy(parse_policy("pokemon/seed-mlp"), battle_facts())
    with pytest.raises(OptionError, match="memory='lstm'"):
        network('pokemon/entity(memory="lstm")')
    policy = network("pokemon/entity")
    other = policy.state_dict() | {"ids.sha256": torch.zeros(32, dtype=torch.uint8)}
    with pytest.raises(CheckpointError, match="vocabularies"):
        policy.load_state_dict(other)


def test_the_seeds_network_scores_ten_actions() -> None:
    """From 41 numbers; dropout is off until a learner trains."""
    policy = build_policy(parse_policy("pokemon/seed-mlp"), battle_facts(10, SEED41_SIZE, "seed41"))
    rows = torch.rand(6, SEED41_SIZE) * 5
    assert policy(rows).logits.shape == (6, 10)
    assert torch.equal(policy(rows).logits, policy(rows).logits)
