"""The Hanabi network: size, the last move read off observations, and checkpoints of the network that it is modelled on."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import torch
from torch import nn

import ludory
from ludory.agents.hanabi.networks.hanabi_gru import LastAction
from ludory.agents.hanabi.networks.import_hanabi_gru import (
    ACTION_ORDERS,
    NAMES,
    action_ids,
    export_hanabi_gru,
    import_hanabi_gru,
)
from ludory.agents.networks.build import PolicySpec, build_policy
from ludory.agents.neural import NeuralAgent
from ludory.algorithms.ppo import PPO
from ludory.algorithms.sampling.lanes import make_lanes
from ludory.algorithms.sampling.sampler import Sampler
from ludory.algorithms.vtrace import VTrace
from ludory.algorithms.vtrace.vtrace import outputs_in_time
from ludory.cli import main
from ludory.envs.hanabi.state import ACTION, KIND, NO_MOVE
from ludory.envs.make import make_engine, make_game
from ludory.errors import CheckpointError, OptionError
from ludory.plugins.builtin import GAMES

pytestmark = pytest.mark.plain

FULL, SMALL = "Hanabi2P-v0", "HanabiSmall2P-v0"
LENGTHS = {SMALL: (171, 11), "HanabiTiny2P-v0": (91, 8)}


class Original(nn.Module):
    """The network of the seed, from PyTorch's own parts; ids in its own order. `own`: it is told its own last move, too."""

    def __init__(self, size: int, actions: int, hidden: int = 32, memory: int = 24, own: bool = False) -> None:
        super().__init__()
        self.own = own
        self.obs_fe = nn.Sequential(nn.Linear(size, hidden), nn.ReLU())
        self.seat_emb, self.prev_other_emb = nn.Embedding(2, 8), nn.Embedding(actions + 1, 16)
        if own:
            self.prev_self_emb = nn.Embedding(actions + 1, 16)
        self.gru = nn.GRU(hidden + 8 + (32 if own else 16), memory)
        self.pi, self.v = nn.Linear(memory, actions), nn.Linear(memory, 1)

    def forward(self, observation, seat, previous, memory, own=None):
        parts = [self.obs_fe(observation), self.seat_emb(seat), self.prev_other_emb(previous)]
        if self.own:
            parts.append(self.prev_self_emb(own))
        out, after = self.gru(torch.cat(parts, -1)[None], memory[None])
        return self.pi(out[0]), self.v(out[0])[:, 0], after[0]


def original(game: str = SMALL, own: bool = False) -> Original:
    torch.manual_seed(5)
    return Original(*LENGTHS[game], own=own).eval()


def test_the_default_network_has_the_seeds_600261_parameters():
    policy = build_policy(PolicySpec("hanabi_gru", {}), make_game(FULL).facts)
    assert sum(p.numel() for p in policy.parameters()) == 600_261


@pytest.mark.parametrize(
    "id", [entry.id for entry in GAMES if entry.id.startswith("Hanabi") and entry.id != "Hanabi-v0"]
)
def test_is_built_for_every_hanabi(id):
    policy = build_policy(PolicySpec("hanabi_gru", {}), make_game(id).facts)
    assert policy.seat_embedding.num_embeddings == make_game(id).facts.players


@pytest.mark.parametrize(
    ("players", "observation"),
    [
        (2, "card_knowledge"),
        *(
            pytest.param(*one, marks=pytest.mark.slow)
            for one in ((2, "minimal"), (2, "seer"), (2, "v0_belief"), (3, "card_knowledge"))
        ),
    ],
)
def test_the_last_move_is_read_off_every_observation_of_every_seat(players, observation):
    game = make_game(f"HanabiSmall{players}P-v0", observation=observation)
    engine = make_engine(game, 64, seed=players)
    engine.reset()
    read, packed, rng = LastAction(game.facts), game.facts.observation.bits, np.random.default_rng(0)
    kinds = set()
    for _ in range(game.facts.longest_game):
        last = engine.state.last
        expected = np.where(last[:, KIND] == NO_MOVE, game.facts.num_actions, last[:, ACTION])
        kinds |= set(last[:, KIND].tolist())
        for seat in range(players):
            seen = torch.from_numpy(np.array(engine.observe(seat, packed=packed)))
            assert read(seen).tolist() == expected.tolist()
        mask = engine.legal()
        engine.step((rng.random(mask.shape) * (mask | engine.terminated[:, None])).argmax(1))
        engine.reset(np.flatnonzero(engine.terminated & (rng.random(64) < 0.5)))
    assert len(kinds) == 5  # no move, play, discard, both hints


def test_games_without_a_last_move_in_the_observation_are_refused():
    from games.identity import make_identity

    with pytest.raises(OptionError, match="Identity with observation 'asked' has no last_actor, last_type"):
        build_policy(PolicySpec("hanabi_gru", {}), make_identity().facts)


def test_the_seat_must_be_told():
    policy = build_policy(PolicySpec("hanabi_gru", {}), make_game(SMALL).facts)
    with pytest.raises(OptionError, match="needs the seat"):
        policy(torch.zeros(1, 22, dtype=torch.uint8))


@pytest.mark.parametrize("players", [2, 4])
@pytest.mark.parametrize("order", ACTION_ORDERS)
def test_action_orders_are_permutations(order, players):
    facts = make_game(f"Hanabi{players}P-v0").facts
    ids = np.array(action_ids(order, facts))
    assert sorted(ids) == list(range(facts.num_actions))
    assert (ids[np.argsort(ids)] == np.arange(facts.num_actions)).all()


def test_the_training_order_of_the_seed_is_as_specified():
    plays, discards, colors, ranks = [5, 6, 7, 8, 9], [0, 1, 2, 3, 4], [10, 11, 12, 14, 13], [15, 16, 17, 18, 19]
    assert action_ids("play_first_bw", make_game(FULL).facts) == [*plays, *discards, *colors, *ranks]
    assert action_ids("play_first", make_game(FULL).facts)[10:15] == [10, 11, 12, 13, 14]


@pytest.mark.parametrize("order", ACTION_ORDERS)
@pytest.mark.parametrize("wrapped", [True, False], ids=["in a dict", "bare"])
def test_an_imported_network_says_what_the_original_says_over_whole_games(tmp_path, order, wrapped):
    theirs, file = original(), tmp_path / "net.pt"
    extra = {"optim": {"state": {}}, "update": 3, "cfg": {"lr": 1e-4}}
    torch.save({"model": theirs.state_dict(), **extra} if wrapped else theirs.state_dict(), file)
    ours, _, game = import_hanabi_gru(file, order, "card_knowledge", SMALL)
    ids = torch.tensor([*action_ids(order, game.facts), game.facts.num_actions])
    to_theirs = ids.argsort()
    games = 16
    engine, rng = make_engine(game, games, seed=1), np.random.default_rng(0)
    engine.reset()
    our_memory = [ours.initial_memory(games)] * 2
    their_memory = [torch.zeros(games, 24)] * 2
    previous = torch.full((games,), game.facts.num_actions)
    moves = 0
    while not engine.terminated.all():
        seat, moves = moves % 2, moves + 1
        seats, playing = torch.full((games,), seat), torch.from_numpy(~engine.terminated)
        with torch.no_grad():
            found = ours(torch.from_numpy(engine.observe(seat, packed=True)), our_memory[seat], seats)
            seen = torch.from_numpy(engine.observe(seat)).float()
            logits, values, their_memory[seat] = theirs(seen, seats, to_theirs[previous], their_memory[seat])
        our_memory[seat] = found.memory
        torch.testing.assert_close(found.logits[:, ids[:-1]][playing], logits[playing], rtol=0, atol=1e-6)
        torch.testing.assert_close(found.values[playing], values[playing], rtol=0, atol=1e-6)
        mask = engine.legal()
        actions = (rng.random(mask.shape) * mask).argmax(1)
        engine.step(actions)
        previous = torch.from_numpy(actions)
    assert moves > 5


def test_sizes_come_from_the_file_and_the_spec_builds_the_network_again(tmp_path):
    torch.save(original().state_dict(), tmp_path / "net.pt")
    policy, spec, game = import_hanabi_gru(tmp_path / "net.pt", "ludory", "card_knowledge", SMALL)
    assert spec.arguments == {"hidden": (32,), "memory_size": 24, "seat_size": 8, "action_size": 16, "previous": "seen"}
    build_policy(spec, game.facts).load_state_dict(policy.state_dict())


def test_missing_and_extra_tensors_are_listed(tmp_path):
    weights = original().state_dict()
    del weights["pi.bias"], weights["gru.bias_hh_l0"]
    torch.save(weights | {"critic.weight": torch.zeros(1, 1)}, tmp_path / "net.pt")
    with pytest.raises(CheckpointError, match=r"missing: gru\.bias_hh_l0, pi\.bias; extra: critic\.weight"):
        import_hanabi_gru(tmp_path / "net.pt", game=SMALL)


class Watched(NeuralAgent):
    """Keeps the logits of every decision, by seat."""

    def __init__(self, policy) -> None:
        super().__init__(policy, "watched")
        self.said = []
        policy.register_forward_hook(lambda module, given, output: self.said.append(output.logits))


@pytest.mark.parametrize("order", ACTION_ORDERS)
def test_an_imported_network_that_is_told_its_own_last_move_plays_as_the_original(tmp_path, order):
    """At a table, where `notice` keeps count of the moves, against the original with moves counted here."""
    theirs, file = original(own=True), tmp_path / "net.pt"
    torch.save(theirs.state_dict(), file)
    ours, spec, game = import_hanabi_gru(file, order, "card_knowledge", SMALL)
    assert spec.arguments["previous"] == "all"
    none, games = game.facts.num_actions, 8
    ids = torch.tensor([*action_ids(order, game.facts), none])
    to_theirs = ids.argsort()
    engine, rng, moves = make_engine(game, games, seed=1), np.random.default_rng(0), 0
    engine.reset()
    agent = Watched(ours)
    memories, last = [agent.initial_memory(games) for _ in range(2)], torch.full((2, games), none)
    their_memory = [torch.zeros(games, 24)] * 2
    while len(rows := np.flatnonzero(~engine.terminated)):
        seat, moves = moves % 2, moves + 1
        agent.choose(engine, seat, rows, memories[seat])
        with torch.no_grad():
            seen, seats = torch.from_numpy(engine.observe(seat)).float(), torch.full((games,), seat)
            others, own = to_theirs[last[1 - seat]], to_theirs[last[seat]]
            logits, _, their_memory[seat] = theirs(seen, seats, others, their_memory[seat], own)
        torch.testing.assert_close(agent.said[-1][:, ids[:-1]], logits[rows], rtol=0, atol=1e-6)
        mask = engine.legal()
        actions = (rng.random(mask.shape) * mask).argmax(1)
        for noticed in (0, 1):
            agent.notice(engine, noticed, rows, actions[rows], memories[noticed])
        last[seat] = torch.from_numpy(actions)
        engine.step(actions)
    assert moves > 5


@pytest.mark.parametrize(
    ("game", "previous"),
    [
        (SMALL, "all"),
        pytest.param("HanabiSmall3P-v0", "all", marks=pytest.mark.slow),
        ("HanabiSmall3P-v0", "others"),
    ],
)
@pytest.mark.parametrize("seats", ["all", "1"])
def test_training_replays_the_last_moves_with_which_the_network_played(game, previous, seats):
    """Whole rollouts unrolled again say what was said while they were played; the moves are those of the game."""
    made = make_game(game)
    torch.manual_seed(1)
    policy = build_policy(
        PolicySpec("hanabi_gru", {"hidden": (8,), "memory_size": 8, "previous": previous}), made.facts
    )
    torch.nn.init.normal_(policy.logits.weight, 0, 0.5)
    engine, generator = make_engine(made, 6, seed=2), torch.Generator().manual_seed(2)
    sampler = Sampler(make_lanes(made, engine, seats, "random"))
    players, none, told = made.facts.players, made.facts.num_actions, 0
    for _ in range(3):
        rollout, _ = sampler.collect(policy, 12, generator)
        output = outputs_in_time(policy, rollout, players)
        torch.testing.assert_close(output.values, rollout.values, rtol=1e-4, atol=1e-5)
        shown = policy.last_action(rollout.observations)
        by_others = rollout.previous[..., 1:]
        assert ((by_others == shown.unsqueeze(-1)).any(-1) | (shown == none)).all(), (
            "the last move of all is among them"
        )
        assert (rollout.previous[rollout.starts][:, 0] == none).all()
        told += int((by_others != none).sum())
    assert told > 0


def test_one_step_of_memory_of_moves_is_what_was_played():
    made = make_game(SMALL)
    policy = build_policy(PolicySpec("hanabi_gru", {"hidden": (8,), "memory_size": 8, "previous": "all"}), made.facts)
    sampler = Sampler(make_lanes(made, make_engine(made, 4, seed=2), "all", "random"))
    rollout, _ = sampler.collect(policy, 10, torch.Generator().manual_seed(2))
    ended = rollout.terminated
    for t in range(2, 10):
        goes_on = ~ended[t - 2] & ~ended[t - 1]
        assert torch.equal(rollout.previous[t, goes_on, 0], rollout.actions[t - 2, goes_on, 0])
        assert torch.equal(rollout.previous[t, goes_on, 1], rollout.actions[t - 1, goes_on, 0])
    assert ended.any()


@pytest.mark.parametrize("kind", [PPO, pytest.param(VTrace, marks=pytest.mark.slow)])
def test_a_resumed_run_with_last_moves_ends_at_the_same_numbers(tmp_path, kind):
    options = {"num_envs": 8, "n_steps": 8, "seed": 3}
    spec = "hanabi_gru(hidden=(8,), memory_size=8, previous=all)"
    whole = kind(spec, SMALL, **options).learn(256)
    half = kind(spec, SMALL, **options).learn(128)
    half.save(tmp_path / "half.ludory")
    rest = kind.load(tmp_path / "half.ludory").learn(128, reset_num_timesteps=False)
    for one, other in zip(whole.policy.parameters(), rest.policy.parameters(), strict=True):
        assert torch.equal(one, other)
    result = ludory.evaluate(str(tmp_path / "half.ludory"), game=SMALL, games=10, seed=1)
    assert result.returns.shape == (10, 2)


def test_a_network_must_be_told_what_it_wants_to_know():
    facts = make_game(SMALL).facts
    with pytest.raises(OptionError, match="previous='own': must be one of 'seen', 'others', 'all'"):
        build_policy(PolicySpec("hanabi_gru", {"previous": "own"}), facts)
    policy = build_policy(PolicySpec("hanabi_gru", {"previous": "all"}), facts)
    with pytest.raises(OptionError, match="needs the last move of every seat"):
        policy(torch.zeros(1, 22, dtype=torch.uint8), None, torch.zeros(1, dtype=torch.int64))


def test_predict_takes_the_seat_and_says_what_is_missing():
    options = {"num_envs": 2, "n_steps": 2, "seed": 3}
    model = PPO("hanabi_gru(hidden=(8,), memory_size=8)", SMALL, **options)
    seen = np.random.default_rng(0).integers(0, 2, (3, model.game.facts.observation.size))
    with pytest.raises(OptionError, match="predict: hanabi_gru must be told which seat it plays"):
        model.predict(seen)
    with pytest.raises(OptionError, match=r"must lie in 0\.\.1"):
        model.predict(seen, seat=2)
    torch.nn.init.normal_(model.policy.seat_embedding.weight, 0, 5)
    torch.nn.init.normal_(model.policy.logits.weight)
    mixed, _ = model.predict(seen, deterministic=True, seat=[0, 1, 0])
    first, second = (model.predict(seen, deterministic=True, seat=seat)[0] for seat in (0, 1))
    assert mixed.tolist() == [first[0], second[1], first[2]]
    told = PPO("hanabi_gru(hidden=(8,), memory_size=8, previous=all)", SMALL, **options)
    with pytest.raises(OptionError, match=r"is told the moves of all seats.*as_agent\(\)"):
        told.predict(seen, seat=0)


def test_tensors_of_another_size_are_listed(tmp_path):
    weights = original().state_dict() | {"pi.bias": torch.zeros(12), "gru.bias_hh_l0": torch.zeros(9)}
    torch.save(weights, tmp_path / "net.pt")
    with pytest.raises(
        CheckpointError, match=r"gru\.bias_hh_l0 is \(9,\), must be \(72,\); pi\.bias is \(12,\), must be \(11,\)"
    ):
        import_hanabi_gru(tmp_path / "net.pt", "ludory", "card_knowledge", SMALL)
    torch.save(weights | {"pi.weight": torch.tensor(0.0)}, tmp_path / "net.pt")
    with pytest.raises(CheckpointError, match=r"pi\.weight has 0 dimensions"):
        import_hanabi_gru(tmp_path / "net.pt", "ludory", "card_knowledge", SMALL)


def test_the_observation_is_asked_for_where_its_length_does_not_tell(tmp_path):
    file = tmp_path / "net.pt"
    torch.save(original().state_dict(), file)
    with pytest.raises(OptionError, match=r"reads 171 entries, as do card_knowledge, seer, v0_belief .* say which"):
        import_hanabi_gru(file, game=SMALL)
    with pytest.raises(OptionError, match=r"'rich': .* private variant"):
        import_hanabi_gru(file, observation="rich", game=SMALL)
    with pytest.raises(OptionError, match="observation='full': must be one of"):
        import_hanabi_gru(file, observation="full", game=SMALL)
    with pytest.raises(OptionError, match="action_order='hle': must be one of"):
        import_hanabi_gru(file, action_order="hle", game=SMALL)
    with pytest.raises(CheckpointError, match=r"reads 171 entries; .* card_knowledge 658, .*minimal 308"):
        import_hanabi_gru(file, observation="card_knowledge")
    torch.save(Original(103, 11).state_dict(), file)
    assert import_hanabi_gru(file, game=SMALL).game.facts.observation.name == "minimal"


def test_nothing_in_a_foreign_file_is_executed(tmp_path):
    class Bomb:
        def __reduce__(self):
            return (open, (str(tmp_path / "executed"), "w"))

    (tmp_path / "pickle.pt").write_bytes(pickle.dumps(Bomb(), protocol=2))
    torch.save({"model": original().state_dict(), "cfg": Bomb()}, tmp_path / "torch.pt")
    (tmp_path / "empty.pt").write_bytes(b"")
    (tmp_path / "text.pt").write_text("hello")
    torch.save(original().state_dict(), tmp_path / "cut.pt")
    (tmp_path / "cut.pt").write_bytes((tmp_path / "cut.pt").read_bytes()[:2000])
    for name in ("pickle", "torch", "empty", "text", "cut"):
        own_words = rf"{name}\.pt: not a file of tensors(?!.*weights_only)"  # no advice to read it without safety
        with pytest.raises(CheckpointError, match=own_words):
            import_hanabi_gru(tmp_path / f"{name}.pt", game=SMALL)
    assert not (tmp_path / "executed").exists()
    with pytest.raises(CheckpointError, match="no such file"):
        import_hanabi_gru(tmp_path / "none.pt", game=SMALL)
    torch.save({"model": {"weights": 3}}, tmp_path / "numbers.pt")
    with pytest.raises(CheckpointError, match=r"must hold a state dict, .* got a dict of model"):
        import_hanabi_gru(tmp_path / "numbers.pt", game=SMALL)


def test_every_tensor_of_the_original_has_a_place():
    assert set(NAMES) == set(original(own=True).state_dict())


def test_the_command_writes_a_checkpoint_that_plays(tmp_path, capsys):
    file, out = tmp_path / "net.pt", tmp_path / "net.ludory"
    torch.save(original().state_dict(), file)
    command = ["hanabi", "import-gru", str(file), "--observation", "card_knowledge", "--env", SMALL]
    assert main(command) == 0
    assert f"ludory eval {out} --game {SMALL}" in capsys.readouterr().out
    model = ludory.load(out)
    expected = import_hanabi_gru(file, observation="card_knowledge", game=SMALL).policy.state_dict()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in model.policy.state_dict().items())
    assert ludory.evaluate(str(out), game=SMALL, games=20, seed=1).returns.shape == (20, 2)
    assert main(command) == 2  # never over another file
    assert "exists" in capsys.readouterr().err


@pytest.mark.parametrize("order", ACTION_ORDERS)
@pytest.mark.parametrize("own", [False, True], ids=["seen", "all"])
def test_an_exported_network_is_the_one_that_was_imported(tmp_path, order, own):
    torch.save(original(own=own).state_dict(), tmp_path / "net.pt")
    ours, _, game = import_hanabi_gru(tmp_path / "net.pt", order, "card_knowledge", SMALL)
    export_hanabi_gru(ours, game, tmp_path / "there.pt", order)
    written = torch.load(tmp_path / "there.pt", weights_only=True)["model"]
    expected = original(own=own).state_dict()
    assert written.keys() == expected.keys()
    assert all(torch.equal(written[name], tensor) for name, tensor in expected.items())


def test_a_network_of_ludory_is_exported_by_the_command_and_says_the_same_when_it_comes_back(tmp_path, capsys):
    model = PPO("hanabi_gru(hidden=(8,), memory_size=8)", SMALL, num_envs=2, n_steps=2, seed=3)
    file, out = tmp_path / "net.ludory", tmp_path / "net.pt"
    model.save(file)
    command = ["hanabi", "export-gru", str(file)]
    assert main(command) == 0
    assert f"{out}: 12 tensors for {SMALL} with observation card_knowledge" in capsys.readouterr().out
    back = import_hanabi_gru(out, observation="card_knowledge", game=SMALL).policy
    seen = torch.randint(0, 256, (5, 22), generator=torch.Generator().manual_seed(0)).to(torch.uint8)
    with torch.no_grad():
        one, other = (net(seen, None, torch.zeros(5, dtype=torch.int64)) for net in (model.policy, back))
    assert torch.equal(one.logits, other.logits)
    assert torch.equal(one.values, other.values)
    assert main(command) == 2  # never over another file
    assert "exists" in capsys.readouterr().err


def test_a_plain_gru_is_exported_and_says_the_same_when_it_comes_back(tmp_path):
    model = PPO("gru(hidden=(8,), memory_size=6)", SMALL, num_envs=2, n_steps=2, seed=3)
    file, out = tmp_path / "net.ludory", tmp_path / "net.pt"
    model.save(file)
    assert main(["hanabi", "export-gru", str(file)]) == 0
    back = import_hanabi_gru(out, observation="card_knowledge", game=SMALL).policy
    seen = torch.randint(0, 256, (2, 5, 22), generator=torch.Generator().manual_seed(0)).to(torch.uint8)
    memories = [None, None]
    with torch.no_grad():
        for step in range(2):
            said = [
                net(seen[step], memory, torch.arange(5) % 2)
                for net, memory in zip((model.policy, back), memories, strict=True)
            ]
            torch.testing.assert_close(said[0].logits, said[1].logits)
            torch.testing.assert_close(said[0].values, said[1].values)
            memories = [one.memory for one in said]
    game = make_game(SMALL)
    for arguments, reason in (
        ({"hidden": (8, 8)}, "2 hidden layers"),
        ({"hidden": (8,), "activation": "tanh"}, "activation='tanh'"),
    ):
        network = build_policy(PolicySpec("gru", {"memory_size": 8, **arguments}), game.facts)
        with pytest.raises(OptionError, match=reason):
            export_hanabi_gru(network, game, tmp_path / "other.pt")


def test_networks_that_the_other_project_lacks_are_not_exported(tmp_path):
    game = make_game(SMALL)
    for spec, reason in (
        (PolicySpec("mlp", {"hidden": (8,)}), "'mlp': a HanabiGRUPolicy has the layers of 'hanabi_gru' or 'gru' only"),
        (PolicySpec("hanabi_gru", {"hidden": (8, 8), "memory_size": 8}), "2 hidden layers .* one hidden layer"),
        (PolicySpec("hanabi_gru", {"hidden": (8,), "memory_size": 8, "previous": "others"}), "previous='others'"),
    ):
        with pytest.raises(OptionError, match=reason):
            export_hanabi_gru(build_policy(spec, game.facts), game, tmp_path / "net.pt")
    network = build_policy(PolicySpec("hanabi_gru", {"hidden": (8,), "memory_size": 8}), game.facts)
    with pytest.raises(OptionError, match="action_order='hle'"):
        export_hanabi_gru(network, game, tmp_path / "net.pt", "hle")
    assert not (tmp_path / "net.pt").exists()
