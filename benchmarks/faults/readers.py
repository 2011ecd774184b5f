"""Reads the files of each format through the door that a user takes, and returns all that was read."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np

from . import samples


def load(folder: Path) -> Any:
    import ludory

    model = ludory.load(folder / "model.ludory")
    return dict(model.policy.state_dict()), model.num_timesteps


def restore(folder: Path) -> Any:
    """Restore and play on, since a state out of bounds has effects only then."""
    from ludory.envs.make import make_engine

    engine = make_engine(samples.GAME, 4, seed=1)
    engine.reset()
    engine.restore(folder / "games.npz")
    fields = {name: np.array(value) for name, value in engine.fields().items()}
    for _ in range(2):
        seen, legal = np.array(engine.observe()), np.array(engine.legal())
        moves = np.flatnonzero(legal.any(axis=1))
        if len(moves):
            engine.step(legal[moves].argmax(axis=1), moves)
    return fields, seen


def trajectories(folder: Path) -> Any:
    from ludory.data import TrajectoryDataset

    return [table.to_pydict() for table in TrajectoryDataset(folder).tables()]


def search_log(folder: Path) -> Any:
    from ludory.data.formats.sparta.log import read_sparta_log

    log = read_sparta_log(folder / "sparta_games.jsonl", samples.GAME)
    return log.columns


def sequences(folder: Path) -> Any:
    from ludory.data.formats.last_man_standing.load import load_sequences

    return [
        {name: getattr(one, name) for name in getattr(one, "__slots__", one.__dict__)}
        for one in load_sequences(folder).sequences
    ]


def battles(folder: Path) -> Any:
    from ludory.data.formats.battles import BattleTrajectories

    return list(BattleTrajectories(folder / "battles.jsonl").parts())


def replay(folder: Path) -> Any:
    from ludory.data.replay import frames, read_replay

    replay = read_replay(folder / "replay.json")
    return replay, sum(1 for _ in frames(replay))


def league(folder: Path) -> Any:
    from ludory.algorithms.league.player_files import open_league

    opened = open_league(folder)
    return opened.config.to_json(), opened.state.to_json()


def league_state(folder: Path) -> Any:
    from ludory.algorithms.league.log.events import LeagueEvent
    from ludory.algorithms.league.log.state import EVERY, load_state

    return load_state(folder, [LeagueEvent(EVERY, "committed", 0.0, {})], samples.DECAY).to_json()


def players(folder: Path) -> Any:
    from ludory.algorithms.league.player_files import open_league

    opened = open_league(folder)
    copies = [one.id for one in opened.state.players if one.frozen and one.file]
    players: list[Any] = [opened.pool.opponent(id) for id in copies]
    return [dict(player.state_dict()) for player in players]


def exploiters(folder: Path) -> Any:
    from ludory.algorithms.league.exploitation import read_exploitations

    return read_exploitations(folder)


def flywheel(folder: Path) -> Any:
    from ludory.algorithms.flywheel.state import FlywheelState

    return FlywheelState.read(folder)


def oracle(folder: Path) -> Any:
    from ludory.algorithms.texas42.oracle.data import read_split

    return read_split(folder, "train", 100, 0)


def hands(folder: Path) -> Any:
    from ludory.data.formats.texas42.eq_records import read_eq

    return [read_eq(file) for file in sorted(folder.rglob("*.safetensors"))]


def bids(folder: Path) -> Any:
    from ludory.data.formats.texas42.bid_tables import read_bids

    return read_bids(folder / samples.NAME.path, samples.NAME)


def calibration(folder: Path) -> Any:
    from ludory.agents.texas42.bidding.fitted_make_probability import read_calibration

    return read_calibration(folder / "calibration.json")


def minari(folder: Path) -> Any:
    from ludory.data.formats.minari_sets import MinariTrajectories

    return list(MinariTrajectories(folder).parts())


def replays(folder: Path) -> Any:
    from ludory.data.pokemon.conversion import Conversion, converted
    from ludory.data.pokemon.rejections import Rejection
    from ludory.errors import DataError

    found = list(converted([folder / "replays.jsonl"], Conversion(labels="log")))
    for one in found:
        if isinstance(one, Rejection):
            raise DataError(str(one))
    return found


def battle_trajectories(folder: Path) -> Any:
    from ludory.data.pokemon.observations import observations_of
    from ludory.data.pokemon.trajectories import read_trajectories

    found = list(read_trajectories(folder / "battles.jsonl"))
    return found, [observations_of(one, "entity") for one in found]


def token_ppo(folder: Path) -> Any:
    import ludory

    model: Any = ludory.load(folder)
    weights = dict(model.network.state_dict())
    return weights, model.model.tokenizer_hash, model.iteration, model.num_timesteps, model.rooms_seen


def language_model(folder: Path) -> Any:
    from ludory.agents.language.model import load_language_model

    model = load_language_model(folder / "sft", device="cpu")
    settings = model.model.config.to_dict(), model.model.generation_config.to_dict()
    return dict(model.model.state_dict()), model.tokenizer_hash, settings, model.tokenizer.chat_template


def stopped_fine_tuning(folder: Path) -> Any:
    run = samples.stopped_fine_tuning(folder)
    run._resume()
    state = run.optimizer.state_dict()["state"]
    return dict(run.network.state_dict()), state, run.position.numbers(), run.position.tensors(), run.history


def turns(folder: Path) -> Any:
    from ludory.algorithms.world_model.files import TURNS, read_table

    return read_table(folder / "data" / "turns-00000.parquet", TURNS).to_pydict()


def rows(folder: Path) -> Any:
    from ludory.algorithms.world_model.config import read_config
    from ludory.algorithms.world_model.pipeline import seen_rooms, start_model
    from ludory.algorithms.world_model.rows import load_rows, load_validation

    config = read_config(folder / "spa.yaml")
    model = start_model(config.model, config.text, "cpu")
    data = folder / "data"
    both = (
        load_rows(data / "wm_train.parquet", model, config.sft),
        load_validation(data / "wm_val.parquet", model, config.sft),
    )
    return both, sorted(seen_rooms(data))


def fine_tuned(folder: Path) -> Any:
    from ludory.algorithms.world_model.config import read_config
    from ludory.algorithms.world_model.pipeline import sft_stage, start_model

    config = read_config(folder / "spa.yaml")
    model = start_model(config.model, config.text, "cpu")
    return sft_stage(model, folder / "data", config.sft, folder / "sft", config.text)


def spa_configuration(folder: Path) -> Any:
    from ludory.algorithms.world_model.config import read_config

    return read_config(folder / "spa.yaml")


def sweep(folder: Path) -> Any:
    return samples.opened_sweep(folder).results()


def tuned(folder: Path) -> Any:
    from ludory.algorithms.tuned.settings import read_tuned

    return read_tuned((folder / "tuned.json").read_bytes(), "tuned.json")


def stored(folder: Path) -> Any:
    from ludory.data.storage import fetch

    shutil.rmtree(folder / "fetched", ignore_errors=True)
    fetch(samples.store_of(folder), folder / "fetched")
    return {file.name: file.read_bytes() for file in (folder / "fetched").iterdir()}


def mirrored(folder: Path) -> Any:
    from ludory.data.mirror import Mirror

    mirror = Mirror((folder / "url").read_text(encoding="utf-8"), folder / "work", is_file=False)
    mirror.open()
    return sorted(file.name for file in mirror.folder.glob("*"))


def table(folder: Path) -> Any:
    tables, players = samples.opened_tables(folder)
    try:
        one = tables.get(samples.TABLE)
        about = one.game, one.options, one.seed, one.seats, one.created, one.taken_back, one.finished
        return about, one.moves, tables.position(one).picture(None)
    finally:
        tables.close()
        players.close()


def kept_text(folder: Path) -> Any:
    from ludory.web.kept import KeptTexts

    return KeptTexts(folder, "d", "nothing").file(samples.TEXT).read_bytes()


def quick_weights(folder: Path) -> Any:
    from ludory.agents.texas42.play.fast_policy import read_weights

    return read_weights(folder / "weights.json")


def quick_examples(folder: Path) -> Any:
    from ludory.algorithms.texas42.quick.fit import gather_examples

    return gather_examples(folder, 1, "random")


def torch_hand(folder: Path) -> Any:
    from ludory.data.formats.texas42.eq_torch import read_pt

    return read_pt(folder / "hand.pt")


def contracts(folder: Path) -> Any:
    from ludory.data.formats.texas42.contracts import ContractsName, check_contracts, read_contracts

    file = folder / ContractsName(0).path
    check_contracts(file, ContractsName(0))
    return read_contracts([file])


def rooms(folder: Path) -> Any:
    from ludory.envs.sokoban.bank import read_bank

    return read_bank(folder / "bank.npz")


def levels(folder: Path) -> Any:
    from ludory.envs.sokoban.level_files import read_levels

    # without titles, which may be in Latin-1, so that any bytes are one
    return [level.codes for level in read_levels(folder / "levels.txt").levels]


def sb3_model(folder: Path) -> Any:
    from ludory.agents.networks.import_sb3 import read_sb3

    return read_sb3(folder / "model.zip")


def gru_model(folder: Path) -> Any:
    from ludory.agents.hanabi.networks.import_hanabi_gru import read_state_dict

    return read_state_dict(folder / "model.pth")


def options(folder: Path, name: str) -> Any:
    from ludory.config_file import read_config

    return read_config(folder / name)


def metrics(folder: Path) -> Any:
    from ludory.algorithms.running.learning_curves import read_table

    return read_table(folder / "run.csv")
