"""Small good files of formats that no short command writes."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from ludory.agents.texas42.bidding import fitted_make_probability as calibrated
from ludory.algorithms.league.exploitation import Exploitation, write_exploitations
from ludory.algorithms.league.log.state import EVERY, LeagueState, write_state
from ludory.algorithms.make import make_algorithm
from ludory.data.formats.texas42.bid_tables import BidName
from ludory.envs.make import make_engine

GAME = "HanabiTiny2P-v0"
NAME = BidName(3, "rollout", 2, 1, 0)
"""Name of the file of bids."""


def _as_lines(*lines: dict[str, Any]) -> bytes:
    return "".join(json.dumps(line) + "\n" for line in lines).encode()


def snapshot(folder: Path) -> None:
    """Four games after two moves."""
    engine = make_engine(GAME, 4, seed=3)
    engine.reset()
    for _ in range(2):
        engine.step(np.asarray(engine.legal()).argmax(axis=1))
    engine.save(folder / "games.npz")


def checkpoint(folder: Path) -> None:
    """An untrained model."""
    sizes: dict[str, Any] = {"num_envs": 2, "n_steps": 2, "batch_size": 4}
    make_algorithm("ppo", GAME, "mlp(hidden=(8,))", seed=3, **sizes).save(folder / "model.ludory")


def recorder(folder: Path) -> None:
    """Six ticks of a bot."""
    ticks = [
        {
            "tick_id": number,
            "observation": {
                "self_state": {
                    "position": [1.25 + number, -2.5],
                    "velocity": [3.5, -4.5],
                    "hp": 77.0,
                    "cooldowns": {"fire": 0.2},
                    "ammo": 12,
                },
                "zone_state": {"position": [0.5, 0.75], "radius": 9.5, "is_safe": True},
                "tick_id": number,
                "visible_entities": [{"id": "e", "position": [4.25, 1.5], "type": "enemy", "hp": 55.0}],
                "visible_items": [{"id": "a", "position": [7.25, 5.5], "type": "ammo_crate"}],
            },
            "action": dict.fromkeys(("move_x", "move_y", "aim_x", "aim_y"), 0.2)
            | {"fire": True, "ability_id": None, "interact": False},
            "reward": 0.25,
            "done": number == 5,
        }
        for number in range(6)
    ]
    (folder / "ep_bot.jsonl.gz").write_bytes(gzip.compress(_as_lines(*ticks)))


def feedback(folder: Path) -> None:
    """The stream of a live client, and the manifest that says how its run ended."""
    stream = folder / "feedback_training" / "run1" / "feedback_stream.jsonl"
    manifest = folder / "live" / "batch" / "manifest.jsonl"
    steps = [{"action": "idle", "action_ok": True} for _ in range(5)]
    record = {
        "match": 1,
        "runtime_feedback_jsonl": "run1/feedback_stream.jsonl",
        "run_finish_line": "",
        "run_stop_line": "",
    }
    for file, lines in ((stream, [{"event": "session_start"}, *steps, {"event": "session_end"}]), (manifest, [record])):
        file.parent.mkdir(parents=True)
        file.write_bytes(_as_lines(*lines))


def battles(folder: Path) -> None:
    """Two players of one battle, and one of another."""

    def step(kind: int, target: int, reward: float = 0.0, done: bool = False) -> dict[str, Any]:
        seen = {"turn": 1, "active_hp": 0.5, "team_hp": [1.0, 0.25], "fainted": False}
        return {"observation": seen, "action_type": kind, "action_target": target, "reward": reward, "done": done}

    lines = [
        {
            "replay_id": "b-1",
            "player": "p1",
            "total_reward": 1,
            "steps": [step(0, 3), step(1, 5, 0.5), step(0, 0, 0.5, True)],
        },
        {"replay_id": "b-2", "player": "p2", "total_reward": -1, "steps": [step(1, 0, -1.0, True)]},
        {"replay_id": "b-1", "player": "p2", "total_reward": -1, "steps": [step(0, 2), step(0, 1, -1.0, True)]},
    ]
    (folder / "battles.jsonl").write_bytes(_as_lines(*lines))


def exploiters(folder: Path) -> None:
    """Results of two exploiters."""
    write_exploitations(folder, [Exploitation("main", "teacher", seed, 300, 8, 0.5, 0.2, 0.8) for seed in (1, 2)])


def league_state(folder: Path) -> None:
    """The state of a league that has just begun."""
    write_state(folder, LeagueState(DECAY), EVERY)


DECAY = 0.99


def calibration(folder: Path) -> None:
    """The calibration of Texas 42 that ships with Ludory."""
    (folder / "calibration.json").write_text(calibrated.calibration_json(calibrated.shipped()), encoding="utf-8")


def bids(folder: Path) -> None:
    """P(make) of one dealt hand."""
    from ludory.algorithms.texas42.data.shards import make_bids

    make_bids(folder / NAME.path, NAME)


# --- Pokémon --------------------------------------------------------------------------------------------------------------


def _battle(number: int) -> dict[str, Any]:
    """A short battle as its replay says it."""
    lines = ["|gametype|singles", f"|player|p1|Ann{number}|1|", "|player|p2|Bob|2|", "|gen|1"]
    lines += ["|tier|[Gen 1] Random Battle", "|", "|teamsize|p1|2", "|teamsize|p2|2", "|start"]
    lines += ["|switch|p1a: Tauros|Tauros, L68|100/100", "|switch|p2a: Snorlax|Snorlax, L69|100/100"]
    for turn in range(1, 5):
        lines += [f"|turn|{turn}", "|", "|move|p1a: Tauros|Body Slam|p2a: Snorlax"]
        lines += [f"|-damage|p2a: Snorlax|{90 - 20 * turn}/100", "|move|p2a: Snorlax|Earthquake|p1a: Tauros"]
        lines += [f"|-damage|p1a: Tauros|{95 - 15 * turn}/100", "|", "|upkeep"]
    lines += ["|turn|5", "|", "|move|p1a: Tauros|Body Slam|p2a: Snorlax", "|-damage|p2a: Snorlax|0 fnt"]
    lines += ["|faint|p2a: Snorlax", "|", "|switch|p2a: Tauros|Tauros, L68|100/100", "|turn|6", "|"]
    lines += ["|move|p1a: Tauros|Body Slam|p2a: Tauros", "|-damage|p2a: Tauros|0 fnt", "|faint|p2a: Tauros", "|"]
    return {
        "id": f"gen1randombattle-{number}",
        "formatid": "gen1randombattle",
        "rating": 1500,
        "log": "\n".join([*lines, f"|win|Ann{number}"]),
    }


def replays(file: Path, battles: int = 2000) -> None:
    """Replays, one a line."""
    file.write_bytes(_as_lines(*map(_battle, range(battles))))


def few_replays(folder: Path) -> None:
    """Three of them."""
    replays(folder / "replays.jsonl", 3)


def battle_trajectories(folder: Path) -> None:
    """What both sides of them did."""
    from ludory.data.pokemon.conversion import Conversion, ConvertedBattle, converted
    from ludory.data.pokemon.trajectories import write_trajectories

    few_replays(folder)
    found = converted([folder / "replays.jsonl"], Conversion(labels="log"))
    sides = [side for one in found if isinstance(one, ConvertedBattle) for side in one.trajectories]
    write_trajectories(folder / "battles.jsonl", sides)


def battle_caches(folder: Path) -> None:
    """The same, with the caches of its data sets."""
    battle_trajectories(folder)
    read_battle_caches(folder)


def read_battle_caches(folder: Path) -> tuple[Any, Any]:
    """Data set and samples, from caches in the folder if they are there."""
    from ludory.data import TrajectoryDataset
    from ludory.data.pokemon.samples import BattleSamples
    from ludory.data.pokemon.shards import cached_shards

    os.environ["LUDORY_CACHE_DIR"] = str(folder / "cache")
    data = TrajectoryDataset(cached_shards(folder / "battles.jsonl"))
    samples = BattleSamples(folder / "battles.jsonl")
    return [*[table.to_pydict() for table in data.tables()], data.identities], [samples[k] for k in range(len(samples))]


# --- Language models ------------------------------------------------------------------------------------------------------


def spa_config(file: Path) -> None:
    """All stages of `ludory spa run`, each of a few episodes; JSON is YAML."""
    few = {"prompt_mode": "world_model", "max_new_tokens": 20}
    stages = {
        "model": "small",
        "text": {"preset": "compact"},
        "generate": {"policy": "solver(0.7)", "batches": 2, "groups": 4, "group_size": 2, "seed": 3} | few,
        "sft": {"epochs": 2, "batch_size": 8, "check_rooms": 0, "checkpoint_every": 2, "seed": 3},
        "ppo": {"preset": "tiny", "iterations": 2, "groups": 2, "group_size": 2, "val_every": 0} | few,
        "eval": {"rooms": 2, "samples": 2, "k": [1]} | few,
    }
    file.write_text(json.dumps(stages, indent=1), encoding="utf-8")


def spa_configuration(folder: Path) -> None:
    """The same in a folder."""
    spa_config(folder / "spa.yaml")


def fine_tuning(folder: Path) -> None:
    """Data, a model that was fine-tuned on them, and another fine-tuning that was stopped after its last epoch."""
    from ludory.algorithms.world_model.config import read_config
    from ludory.algorithms.world_model.generate import generate
    from ludory.algorithms.world_model.pipeline import sft_stage, start_model

    spa_configuration(folder)
    config = read_config(folder / "spa.yaml")
    generate(start_model(config.model, config.text, "cpu"), config.text, config.generate, folder / "data")
    sft_stage(start_model(config.model, config.text, "cpu"), folder / "data", config.sft, folder / "sft", config.text)
    stopped_fine_tuning(folder).learn()


def stopped_fine_tuning(folder: Path) -> Any:
    """A fine-tuning that goes on where its checkpoint is."""
    from ludory.algorithms.world_model.config import read_config
    from ludory.algorithms.world_model.pipeline import start_model
    from ludory.algorithms.world_model.rows import load_rows
    from ludory.algorithms.world_model.sft import SFT

    config = read_config(folder / "spa.yaml")
    model = start_model(config.model, config.text, "cpu")
    rows = load_rows(folder / "data" / "wm_train.parquet", model, config.sft)
    return SFT(model, rows, [], config.sft, folder / "stopped")


# --- What commands and pages keep -----------------------------------------------------------------------------------------


def sweep(folder: Path) -> None:
    """Two trials."""
    for _ in opened_sweep(folder).run(2):
        pass


def opened_sweep(folder: Path) -> Any:
    """The sweep of a folder."""
    from ludory.benchmarks.sweep.study import Sweep, SweepSetting

    fixed = {"num_envs": 2, "n_steps": 4, "batch_size": 8}
    space = {"learning_rate": "1e-4..1e-2"}
    setting = SweepSetting("ppo", "TicTacToe-v0", {}, "mlp(hidden=(8,))", fixed, space, 32, 1, 2, 5, "random", 3)
    return Sweep(folder / "sweep", setting)


def tuned(folder: Path) -> None:
    """The settings that ship with Ludory."""
    from ludory.algorithms.tuned.settings import tuned_games, tuned_json

    (folder / "tuned.json").write_text(tuned_json(tuned_games("ppo")), encoding="utf-8")


def stored(folder: Path) -> None:
    """A store of two files."""
    from ludory.data.storage import store

    (folder / "run").mkdir()
    for name in ("a.txt", "b.txt"):
        (folder / "run" / name).write_text(f"content of {name}", encoding="utf-8")
    store(folder / "run", store_of(folder))


def mirrored(folder: Path) -> None:
    """The folder of a job whose results go to a store, and the name of the store, which is not copied with it."""
    from ludory.data.mirror import Mirror

    stored(folder)
    (folder / "url").write_text(store_of(folder), encoding="utf-8")
    Mirror(store_of(folder), folder / "work", is_file=False).open()


def store_of(folder: Path) -> str:
    """URL of the store in a folder."""
    return f"file://{(folder / 'store').resolve()}"


def table(folder: Path) -> None:
    """Two persons at a table of the browser, after three moves and one that was taken back."""
    tables, players = opened_tables(folder)
    one = tables.start("TicTacToe-v0", {}, 3, ["", ""], "a person")
    for seat, action in ((0, 4), (1, 0), (0, 8)):
        tables.play(one, seat, (action,))
    tables.take_back(one, 0)
    tables.close()
    players.close()
    (folder / f"{one.id}.jsonl").rename(folder / f"{TABLE}.jsonl")


TABLE = "0123456789ab"
"""Its id."""


def opened_tables(folder: Path) -> tuple[Any, Any]:
    """The tables of a folder, and who choose the moves of agents."""
    from ludory.web.players import PlayerPool
    from ludory.web.tables import Tables

    players = PlayerPool(1)
    return Tables(folder, players), players


def kept_text(folder: Path) -> None:
    """What a visitor typed."""
    from ludory.web.kept import KeptTexts

    KeptTexts(folder, "d", "nothing").add(TYPED)


TYPED = json.dumps({"game": "TicTacToe-v0", "first": "random", "second": "random", "seed": "3"})
TEXT = f"d-{hashlib.sha256(TYPED.encode()).hexdigest()[:16]}"
"""Its id."""


# --- Tables of Texas 42 and rooms -----------------------------------------------------------------------------------------


def quick_weights(folder: Path) -> None:
    """Those that ship with Ludory."""
    from ludory.agents.texas42.play.fast_policy import WEIGHTS
    from ludory.algorithms.texas42.quick.fit import write_weights

    write_weights(folder / "weights.json", WEIGHTS)


def quick_examples(folder: Path) -> None:
    """What a player did in some contracts."""
    from ludory.algorithms.texas42.quick.fit import gather_examples

    gather_examples(folder, 1, "random")


def torch_hand(folder: Path) -> None:
    """A recorded hand as a dictionary of `torch.save`."""
    from ludory.agents.texas42.expected_value.decision_value import WorldSampling
    from ludory.agents.texas42.solver.solver import Solver
    from ludory.algorithms.texas42.data.eq import EqSettings, record_game
    from ludory.data.formats.texas42.eq_torch import write_pt

    write_pt(folder / "hand.pt", record_game(0, EqSettings(WorldSampling(5, 5)), Solver()))


def contracts(folder: Path) -> None:
    """Played contracts."""
    from ludory.data.formats.texas42.contracts import CONTRACTS, OPEN, ContractsName, PlayedContracts, write_contracts

    draw = np.random.default_rng(3)
    hands = np.array([[0b1111111 << (7 * seat) for seat in range(4)]] * CONTRACTS, np.int32)
    decl, points = draw.integers(0, 7, CONTRACTS, np.int8), draw.integers(0, 43, CONTRACTS, np.int8)
    seeds, open_points = np.arange(CONTRACTS), draw.integers(0, 43, (CONTRACTS, OPEN), np.int8)
    name = ContractsName(0)
    write_contracts(folder / name.path, name, PlayedContracts(seeds, hands, decl, points, open_points))


def rooms(folder: Path) -> None:
    """A bank of rooms of Sokoban."""
    from ludory.envs.sokoban.bank import RoomFile, room_hashes, write_bank
    from ludory.envs.sokoban.level_files import read_levels
    from ludory.envs.sokoban.levels import alike

    levels(folder)
    codes, _ = alike(read_levels(folder / "levels.txt"))
    write_bank(folder / "bank.npz", RoomFile(codes, room_hashes(codes), np.full(len(codes), 2, np.int32)))


def levels(folder: Path) -> None:
    """Two levels as text."""
    level = "######\n#@ $.#\n#    #\n#    #\n#    #\n######\n"
    (folder / "levels.txt").write_text(f"; 0\n{level}\n; 1\n{level}\n", encoding="utf-8")


# --- Networks of other programs, options, tables of metrics ---------------------------------------------------------------


def sb3_model(folder: Path) -> None:
    """A model of Stable-Baselines3."""
    from stable_baselines3 import PPO

    PPO("MlpPolicy", "CartPole-v1", n_steps=8, batch_size=8, policy_kwargs={"net_arch": [4]}).save(folder / "model.zip")


def gru_model(folder: Path) -> None:
    """A GRU of HIKARU."""
    from ludory.agents.hanabi.networks.import_hanabi_gru import export_hanabi_gru
    from ludory.agents.networks.build import PolicySpec, build_policy
    from ludory.envs.make import make_game

    game = make_game("Hanabi2P-v0")
    policy: Any = build_policy(PolicySpec("hanabi_gru", {"previous": "all"}), game.facts)
    export_hanabi_gru(policy, game, folder / "model.pth")


def options(folder: Path) -> None:
    """Options of a command."""
    (folder / "options.yaml").write_text(
        "# options\nenv: TicTacToe-v0\ngames: 10\nagents: [random, random]\n", encoding="utf-8"
    )
    (folder / "options.toml").write_text('env = "TicTacToe-v0"\ngames = 10\n', encoding="utf-8")


def metrics(folder: Path) -> None:
    """The table of a training."""
    (folder / "run.csv").write_text(
        "time/total_timesteps,train/loss\n" + "".join(f"{k},{1 / k}\n" for k in range(1, 9)), encoding="utf-8"
    )
