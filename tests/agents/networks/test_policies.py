"""Every policy of the table: steps and sequences agree, gradients reach every weight, it is built again from its name."""

from __future__ import annotations

import inspect
from dataclasses import replace

import numpy as np
import pytest
import torch

from ludory.agents.networks.build import PolicySpec, build_policy, complete, parse_policy, policy_class, saved_policy
from ludory.agents.networks.policies.transformer import AttentionLayer
from ludory.agents.networks.policy import Policy
from ludory.agents.neural import NeuralAgent
from ludory.envs.facts import GameFacts, Head, ObservationSpec, Segment
from ludory.envs.make import make_engine, make_game
from ludory.envs.seats.table import Table
from ludory.errors import CheckpointError, OptionError, UnknownIdError
from ludory.plugins import networks
from ludory.plugins.source import arguments_of

TINY = "HanabiTiny2P-v0"
SIZES = {"hidden": (24,), "width": 24, "memory_size": 16, "num_heads": 2}
OBSERVATIONS = ("card_knowledge", "v0_belief")
"""Bits and floats."""
T, B = 7, 5


def small(id):
    """The policy with whatever sizes it can be given."""
    known = complete(parse_policy(id), {}).arguments
    return complete(parse_policy(id), {name: size for name, size in SIZES.items() if name in known})


OF_ONE_OBSERVATION = ("conv", "transcript")
"""Policies that do not read Hanabi; see their own tests and those of their learners."""
every_policy = pytest.mark.parametrize(
    "id",
    [
        id
        for id in networks.ids()
        if policy_class(id).trained_by is None and "/" not in id and id not in OF_ONE_OBSERVATION
    ],
)
on_bits_and_floats = pytest.mark.parametrize("observation", OBSERVATIONS)


class Decisions:
    """T decisions of B columns of random Hanabi, the seats in turn, with the places where a game starts for the policy."""

    def __init__(self, observation: str) -> None:
        game = make_game(TINY, observation=observation)
        engine = make_engine(game, B, seed=1)
        engine.reset()
        rng, self.facts = np.random.default_rng(0), game.facts
        seen, masks, seats = [], [], []
        for _ in range(T):
            mask = engine.legal()
            seen.append(np.array(engine.observe(packed=self.facts.observation.bits)).reshape(B, -1))
            masks.append(mask)
            seats.append(engine.to_move.copy())
            engine.step((rng.random(mask.shape) * mask).argmax(1))
            engine.reset(np.flatnonzero(engine.terminated))
        self.observations, self.masks = torch.from_numpy(np.stack(seen)), torch.from_numpy(np.stack(masks))
        self.seats = torch.from_numpy(np.stack(seats)).long()
        self.starts = torch.rand(T, B, generator=torch.Generator().manual_seed(2)) < 0.3


@pytest.fixture(scope="module")
def decisions() -> dict[str, Decisions]:
    return {observation: Decisions(observation) for observation in OBSERVATIONS}


def build(id: str, facts: GameFacts) -> Policy:
    torch.manual_seed(0)
    return build_policy(small(id), facts)


def seats_for(policy: Policy, seats: torch.Tensor) -> torch.Tensor | None:
    return seats if policy.uses_seat else None


@on_bits_and_floats
@every_policy
def test_a_sequence_is_its_steps_one_after_another_with_memory_reset_at_starts(id, observation, decisions):
    data = decisions[observation]
    policy = build(id, data.facts)
    memory = None if policy.initial_memory(B) is None else torch.randn(B, policy.initial_memory(1).shape[1])
    whole = policy.unroll(data.observations, memory, data.starts, seats_for(policy, data.seats))
    assert whole.logits.shape == (T, B, data.facts.num_actions)
    for t in range(T):
        if memory is not None:
            memory = torch.where(data.starts[t, :, None], policy.initial_memory(B), memory)
        step = policy(data.observations[t], memory, seats_for(policy, data.seats[t]))
        torch.testing.assert_close(step.logits, whole.logits[t], rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(step.values, whole.values[t], rtol=1e-4, atol=1e-6)
        memory = step.memory
    if policy.recurrent:
        torch.testing.assert_close(memory, whole.memory, rtol=1e-4, atol=1e-6)
    else:
        assert memory is whole.memory is None


@every_policy
def test_what_came_before_a_start_does_not_matter(id, decisions):
    data = decisions["card_knowledge"]
    policy = build(id, data.facts)
    starts = torch.zeros(T, B, dtype=torch.bool)
    starts[3] = True
    changed = data.observations.clone()
    changed[:3] = data.observations[:3].flip(1)
    first, second = (policy.unroll(seen, None, starts, data.seats) for seen in (data.observations, changed))
    assert torch.equal(first.logits[3:], second.logits[3:])


@on_bits_and_floats
@every_policy
def test_gradients_are_finite_and_reach_every_weight(id, observation, decisions):
    data = decisions[observation]
    policy = build(id, data.facts)
    output = policy.unroll(data.observations, None, data.starts, seats_for(policy, data.seats))
    heads = policy.distribution(output.logits, data.masks)
    (heads.entropy().mean() + heads.log_prob(heads.mode()).mean() + output.values.square().mean()).backward()
    for name, parameter in policy.named_parameters():
        assert parameter.grad is not None, name
        assert torch.isfinite(parameter.grad).all(), name
        assert (parameter.grad != 0).any(), name


@on_bits_and_floats
@every_policy
def test_bf16_under_autocast_is_near_float32_and_trains(id, observation, decisions):
    data = decisions[observation]
    policy = build(id, data.facts)
    exact = policy.unroll(data.observations, None, data.starts, seats_for(policy, data.seats))
    with torch.autocast("cpu", torch.bfloat16):
        output = policy.unroll(data.observations, None, data.starts, seats_for(policy, data.seats))
    assert not torch.equal(output.logits.float(), exact.logits)
    torch.testing.assert_close(output.values.float(), exact.values, rtol=0.05, atol=0.1)
    policy.distribution(output.logits, data.masks).entropy().sum().backward()
    assert all(torch.isfinite(p.grad).all() for p in policy.parameters() if p.grad is not None)


@every_policy
def test_illegal_moves_have_probability_0_and_are_never_drawn(id, decisions):
    data = decisions["card_knowledge"]
    policy = build(id, data.facts)
    output = policy.unroll(data.observations, None, data.starts, seats_for(policy, data.seats))
    distribution = policy.distribution(output.logits, data.masks)
    every = torch.arange(data.facts.num_actions).expand(T, B, -1).movedim(-1, 0).unsqueeze(-1)
    log_p = torch.stack([distribution.log_prob(action) for action in every], 2).squeeze(-1)
    assert (log_p.exp()[~data.masks] == 0).all()
    torch.testing.assert_close(log_p.exp().sum(-1), torch.ones(T, B))
    assert data.masks.gather(-1, distribution.sample()).all()


@every_policy
def test_name_and_arguments_build_the_same_network_again(id, decisions):
    data = decisions["card_knowledge"]
    spec = small(id)
    first = build_policy(spec, data.facts)
    again = build_policy(PolicySpec(spec.id, dict(spec.arguments)), data.facts)
    again.load_state_dict(first.state_dict())
    assert (type(first).id, spec, parse_policy(spec)) == (id, spec, spec)
    inputs = data.observations, None, data.starts, seats_for(first, data.seats)
    assert torch.equal(first.unroll(*inputs).logits, again.unroll(*inputs).logits)


@every_policy
def test_at_a_table_every_seat_plays_with_its_own_number_and_memory(id):
    game = make_game(TINY)
    policy = build(id, game.facts)
    at_table, by_hand = (make_engine(game, 6, seed=3) for _ in range(2))
    Table(at_table, [NeuralAgent(policy, id), NeuralAgent(policy, id)]).start()
    by_hand.reset()
    memories = [policy.initial_memory(6), policy.initial_memory(6)]
    for move in range(game.facts.longest_game):
        seat = move % 2
        seen = torch.from_numpy(by_hand.observe(seat, packed=True))
        with torch.no_grad():
            output = policy(seen, memories[seat], seats_for(policy, torch.full((6,), seat)))
        memories[seat] = output.memory
        by_hand.step(policy.distribution(output.logits, torch.from_numpy(by_hand.legal())).mode()[:, 0].numpy())
    assert by_hand.terminated.all()
    for field in ("turn", "fireworks", "discards", "last"):
        assert (getattr(at_table.state, field) == getattr(by_hand.state, field)).all()


@every_policy
def test_a_wrong_argument_is_named(id):
    with pytest.raises(OptionError, match=r"has no argument 'colour'; it has "):
        parse_policy(f"{id}(colour=3)")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("residual(num_blocks=0)", r"num_blocks=0: must be at least 1"),
        ("residual(activation='gelu')", "activation='gelu'"),
        ("transformer(width=10, num_heads=4)", "width must be a multiple of num_heads"),
        ("transformer(num_layers=0)", "num_layers=0"),
        ("transformer(dropout=1.0)", r"dropout=1\.0"),
        ("gru(memory_size=0)", "memory_size=0: must be at least 1"),
        ("hanabi_gru(seat_size=0)", "seat_size=0"),
        ("hanabi_gru(hidden=())", r"hidden=\(\)"),
    ],
)
def test_sizes_that_no_network_has_are_refused(text, message):
    with pytest.raises(OptionError, match=message):
        build_policy(parse_policy(text), make_game(TINY).facts)


def with_observation(spec: ObservationSpec) -> GameFacts:
    return replace(make_game(TINY).facts, observation=spec, heads=(Head("a", 3), Head("b", 2)))


def test_the_transformer_reads_whole_numbers_as_tokens():
    facts = with_observation(ObservationSpec("text", (6,), "uint8", (), low=2, high=11))
    policy = build("transformer", facts)
    seen = torch.randint(2, 12, (4, 6), generator=torch.Generator().manual_seed(0)).float()
    output = policy(seen)
    assert output.logits.shape == (4, 5)
    assert policy.encoder.embedding.num_embeddings == 10
    swapped = seen[:, [1, 0, 2, 3, 4, 5]]
    assert not torch.allclose(policy(swapped).values, output.values)  # positions count
    torch.testing.assert_close(policy(seen.to(torch.uint8)).values, output.values)


def test_segment_tokens_are_a_linear_layer_for_each_segment(decisions):
    data = decisions["card_knowledge"]
    encoder = build("transformer", data.facts).encoder
    bits = torch.from_numpy(np.unpackbits(data.observations.numpy(), axis=-1))[..., : data.facts.observation.size]
    segments = [segment for segment in data.facts.segments if segment.length]
    tokens = encoder(data.observations)
    assert tokens.shape == (T, B, len(segments), 24)
    for k, segment in enumerate(segments):
        part = slice(segment.start, segment.start + segment.length)
        expected = bits[..., part].float() @ encoder.weight[:, part].T + encoder.bias[k]
        torch.testing.assert_close(tokens[:, :, k], expected, rtol=1e-4, atol=1e-5)


def test_an_attention_layer_is_pytorchs_and_can_be_asked_for_the_first_tokens_only():
    torch.manual_seed(0)
    ours, x = AttentionLayer(8, 2, 32, 0.0), torch.randn(3, 5, 8)
    plain = torch.nn.TransformerEncoderLayer(8, 2, 32, 0.0, "gelu", batch_first=True, norm_first=True)
    for theirs, parameter in (
        (plain.self_attn, ours.attention),
        (plain.norm1, ours.attention_norm),
        (plain.norm2, ours.feedforward_norm),
        (plain.linear1, ours.feedforward[0]),
        (plain.linear2, ours.feedforward[3]),
    ):
        theirs.load_state_dict(parameter.state_dict())
    torch.testing.assert_close(ours(x), plain(x))
    torch.testing.assert_close(ours(x, 1), plain(x)[:, :1])


def test_every_entry_is_read_also_outside_of_segments_and_where_they_overlap():
    spec = ObservationSpec("odd", (10,), "float32", (Segment("a", 1, 4), Segment("b", 3, 4), Segment("none", 6, 0)))
    encoder = build("transformer", with_observation(spec)).encoder
    assert encoder.lengths == [1, 2, 2, 2, 3]
    base = encoder(torch.zeros(1, 10))
    for entry in range(10):
        assert not torch.equal(encoder(torch.eye(10)[entry : entry + 1]), base)


def test_a_size_that_the_policy_does_not_have_is_refused():
    with pytest.raises(OptionError, match=r"hidden=\(24,\): policy 'residual' has no such argument; it has width"):
        complete(parse_policy("residual"), {"hidden": (24,)})


@every_policy
def test_what_is_listed_are_the_arguments_that_it_takes(id):
    accepted = inspect.signature(policy_class(id)).parameters.values()
    assert arguments_of(networks.get(id)) == ", ".join(f"{one.name}={one.default!r}" for one in list(accepted)[1:])


def test_a_file_whose_network_is_not_installed_says_what_to_install():
    policy = {"id": "nim-heaps-v1", "arguments": {"width": 8}}
    with pytest.raises(
        CheckpointError, match=r'x.ludory: its network is .nim-heaps-v1.*type: pip install "ludory-nim==2"'
    ):
        saved_policy("x.ludory", {"policy": policy, "packages": {"network": "ludory-nim==2"}})
    with pytest.raises(CheckpointError, match=r"no network has the id 'nim-heaps-v1'"):
        saved_policy("x.ludory", {"policy": policy})  # files of before do not name packages


def test_an_unknown_network_answers_with_the_nearest():
    with pytest.raises(UnknownIdError, match=r"no network has the id 'transfromer'; did you mean 'transformer'"):
        parse_policy("transfromer(width=24)")
