"""What clumsy users type: each mistake ends in one line with what was got, what is allowed or what to type, and writes nothing."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import ludory
from ludory.cli import main
from ludory.cli.common.guard import INPUT
from ludory.errors import LudoryError
from ludory.plugins import commands

GAME = "HanabiTiny2P-v0"
PPO = f"train ppo --env {GAME} --out m.ludory"
HAND = "6-4,5-5,4-2,3-1,2-0,1-1,0-0"
COMMANDS: tuple[tuple[str, str], ...] = (
    ("evl random", "did you mean 'eval'"),
    ("--verson", "did you mean --version"),
    (f"eval random --gme {GAME}", "did you mean --game"),
    (f"eval --game {GAME}", "AGENT... is missing; e.g. ludory eval"),
    ("eval random", "--game is missing; e.g. ludory eval"),
    ("eval random --game HanabiTinny2P-v0", f"did you mean '{GAME}'"),
    (f"eval hanabi/igi --game {GAME}", "did you mean 'hanabi/iggi'"),
    (f"eval random --game {GAME} --games many", "--games many: must be a whole number, such as 5000 or 5e6"),
    (f"eval random --game {GAME} --games 1.5", "--games 1.5: must be a whole number"),
    (f"eval random --game {GAME} --games 1e4.5", "--games 1e4.5: must be a whole number"),
    (f"eval random --game {GAME} --games 1e99", "must be a whole number between"),
    (f"eval random --game {GAME} --games 0", "must be an integer of at least 1"),
    (f"eval random --game {GAME} --games", "--games needs a value"),
    (f"eval random --game {GAME} --seed -1", "must be an integer from 0"),
    (f"eval random --game {GAME} --json=yes", "--json takes no value, got 'yes'; type --json alone"),
    (f"eval random random random --game {GAME} --no-crossplay", "give 2, or one for all seats"),
    (f"eval missing.ludory --game {GAME}", "no such file; train one with `ludory train`"),
    (f"eval damaged.ludory --game {GAME}", "not a checkpoint of Ludory, or damaged"),
    (f"eval 'random(seed=x)' --game {GAME}", "seed='x' must be an integer of at least 0"),
    (f"eval 'random(sed=3)' --game {GAME}", "did you mean seed"),
    (f"eval 'random(' --game {GAME}", "type one like random, name(option=1)"),
    (f"eval random --game {GAME} --option players", "must be KEY=VALUE, e.g. --option players=3"),
    (f"eval random --game {GAME} --option players=3", "'Hanabi-v0', players=3"),
    ("eval random --game Hanabi-v0 --option plyers=3", "did you mean 'players'"),
    ("eval random --game Hanabi-v0 --option players=nine", "must be an integer from 2 to 5"),
    (
        "list gmaes",
        "KIND gmaes: must be games, agents, networks, algorithms, benchmarks, commands, formats, viewers, pages, beliefs or analysts; "
        "did you mean games",
    ),
    ("list --jsn", "no option --jsn; did you mean --json"),
    ("train ppo --env HanabiTiny2P-v0 --network gru", "no option --network; did you mean --policy gru?"),
    ("train league --env Arena2P-v0 --network=mlp", "no option --network; did you mean --policy mlp?"),
    ("train ppo --env HanabiTiny2P-v0 --lr 1e-3", "no option --lr; did you mean --learning-rate 1e-3?"),
    (f"sweep ppo --env {GAME} --tune gama=0.9..1", "has no option 'gama'; did you mean gamma"),
    (f"sweep ppo --env {GAME} --tune gamma", "must be NAME=VALUES, e.g. --tune"),
    (f"sweep ppo --env {GAME} --write ppo.txt", "the name must end in .json"),
    ("eval --config missing.yaml", "no such file; `--print-config > missing.yaml` writes one"),
    ("eval --config misspelt.yaml", "no option --gmaes; did you mean --games"),
    ("eval --config list.yaml", "must be a table of options"),
    ("eval --config text.txt", "must end in .yaml, .yml, .toml, .json"),
    ("eval --config broken.json", "cannot be read as JSON"),
    (f"play {GAME} --seat 7", "this game has the seats 0 to 1"),
    (f"play {GAME} --seat left", "--seat left: must be a whole number"),
    (f"play {GAME} --with random random random", "1 seat is free: name one for all"),
    (f"play {GAME} extra", "unexpected 'extra'"),
    ("play nogame", "all of them: ludory list games"),
    (f"watch {GAME}", "name one for all seats"),
    (f"watch {GAME} random --seat 9", "must be all or 0 to 1"),
    (f"watch {GAME} random --delay -1", "--delay -1: must be a time in seconds, 0 or more"),
    ("watch missing.json", "record one with `ludory watch GAME AGENT --replay FILE`"),
    ("watch broken.json", "cannot be read as a replay"),
    (f"record random --game {GAME}", "--out is missing; e.g. ludory record"),
    (f"record random --game {GAME} --out games --format parkuet", "did you mean parquet"),
    (f"record random --game {GAME} --out games --format recorder", "is for the arena"),
    (f"train pppo --env {GAME}", "did you mean 'ppo-v1'"),
    ("train ppo", "--env is missing: name a game"),
    (f"{PPO} --learning-rat 1", "did you mean --learning-rate"),
    (f"{PPO} --learning-rate fast", "--learning-rate fast: must be a number, such as 0.5 or 3e-4"),
    (f"{PPO} --learning-rate -1", "learning_rate=-1.0: must be greater than 0"),
    (f"{PPO} --n-steps 0", "n_steps=0: must be at least 1"),
    (f"{PPO} --timesteps soon", "--timesteps soon: must be a whole number"),
    (f"{PPO} --policy mpl", "did you mean 'mlp'"),
    (f"{PPO} --policy 'mlp(widht=3)'", "it has hidden, activation, separate_value"),
    (f"{PPO} --device tpu", "must be 'cpu' or 'cuda'"),
    (f"{PPO} --seats 5", "must be 'all' or a seat 0..1"),
    (f"{PPO} --resume yes", "unexpected 'yes'"),
    (f"{PPO} -- --n-steps 3", "leave the -- out"),
    ("train bc --data missing", "record a dataset with `ludory record"),
    ("train ppo --data missing", "`ludory train bc` learns from recorded ones"),
    (f"train league --env {GAME} --teacher damaged.ludory --minutes soon --out lg", "must be a number, such as 0.5"),
    (f"train league --env {GAME} --teacher damaged.ludory --minutes 20 --out lg", "a league plays zero-sum games"),
    ("train league --env KuhnPoker-v0 --deterministic", "add --jobs 2 or --ray 0, or leave it out"),
    ("league stats", "did you mean 'status'"),
    ("league status missing", "`ludory train league --out missing` starts a league"),
    (f"flywheel run --env {GAME} --blueprint nobody --out fw", "ludory list agents"),
    ("convert text.txt --from spart --out c", "did you mean sparta"),
    (f"check {GAME} --games 0", "must be at least 1"),
    ("new gam Race", "KIND gam: must be game, agent or algorithm; did you mean game"),
    ("new game Race-v0", "without a version, e.g. Race"),
    ("texas42 bib", "did you mean 'bid'"),
    ("texas42 bid --hand 6-4,5-5", "must be seven different tiles"),
    ("texas42 eq --checkpoint model.ckpt --limit 1", "model.ckpt: no such file"),
    ("texas42 eq --network hanabi/ppo --limit 1", "does not see all hands"),
    ("texas42 eq --batch-size 64 --limit 1", "or choose --adaptive-batch-size"),
    (f"texas42 bid --hand {HAND} --decl purple", "must be 0..9 or one of blanks"),
    ("sokoban bank --out rooms.txt", "the name must end in .npz"),
    ("bench troughput", "did you mean 'throughput'"),
    ("bench --seeds 1", "options come behind the name of a benchmark"),
    ("bench throughput --sections x", "did you mean --section"),
    (
        f"play {GAME} --game KuhnPoker-v0",
        "GAME is named twice, 'HanabiTiny2P-v0' and --game KuhnPoker-v0; leave one out",
    ),
    (f"play {GAME} --with", "--with needs a value"),
    (f"watch {GAME} random --move 3", "--move 3 chooses the picture of --svg: add --svg FILE"),
    (f"watch {GAME} random --gif game.mov", "--gif game.mov: the name must end in .gif"),
    (f"watch {GAME} random --speed 2", "--speed is for videos: add --gif FILE or --mp4 FILE"),
    ("watch --row 3 missing", "--row and --json are for folders of recorded games"),
    ("analyse", "GAME is missing; e.g. ludory analyse game.json"),
    ("analyse missing.json", "record one with `ludory watch GAME AGENT --replay FILE`"),
    (
        "analyse TicTacToe-v0 --moves '0 0' --move 2",
        "move 2 is 0: Tic-tac-toe, game 0, seat 1: action 0 (a1) is not legal",
    ),
    ("analyse TicTacToe-v0 --rollouts -1", "--rollouts -1: must be at least 0"),
    ("serve --port 99999", "--port 99999: must be 0 to 65535"),
    ("serve --runs missing", "--runs missing: there is no such folder; name one that exists"),
    ("check data empty", "must be a file or folder with files called"),
    ("check data emty", "emty: no such file; must be a file or folder with files called"),
    ("check data emty", "did you mean empty?"),
    ("check data", "PATH... is missing; e.g. ludory check data games"),
    ("check rooms a", "must be two: ludory check rooms A B"),
    ("convert missing --from sparta --out c", "missing, field 'file': got [Errno 2]"),
    (f"sweep ppo --env {GAME} --trials 0", "--trials 0: must be at least 1"),
    (f"sweep bc --env {GAME}", "bc states no values to try; name some, e.g. --tune"),
    ("plot missing", "missing: no tables of metrics there; name models or tables"),
    ("plot", "RUN... is missing; e.g. ludory plot"),
    ("league status", "DIR is missing; e.g. ludory league status runs/league"),
    ("flywheel status missing", "`ludory flywheel run --out missing ...` begins one"),
    ("storage push missing file:///tmp/store", "missing: no such file or folder; name one that a job of Ludory wrote"),
    ("storage push empty nope://x", "unknown scheme 'nope'; must be file://, s3://, gs://"),
    ("storage push empty", "URL is missing; e.g. ludory storage push"),
    ("storage fetch", "must be one of push, pull"),
    ("cluster up", "must be one of status; did you mean 'status'?"),
    ("cluster status --adress x", "did you mean --address"),
    ("hub push missing.ludory alice/tiny", "no such file; train one with `ludory train`"),
    ("hub push", "PATH is missing; e.g. ludory hub push"),
    ("hub pul alice/x", "did you mean 'pull'?"),
    ("hub pull not/a/name", "must be owner/name or owner/name@revision"),
    ("hanabi live hanabi/smartbott", "did you mean 'hanabi/smartbot'"),
    ("hanabi live missing.ludory", "no such file; train one with `ludory train`"),
    ("hanabi import-gru", "FILE is missing; e.g. ludory hanabi import-gru"),
    ("hanabi export-gru missing.ludory", "no such file; train one with `ludory train`"),
    ("hanabi imprt-gru", "did you mean 'import-gru'"),
    ("pokemon convert missing", "--out is missing; e.g. ludory pokemon convert"),
    ("pokemon stats", "PATH... is missing; e.g. ludory pokemon stats"),
    ("pokemon instal", "did you mean 'install'"),
    ("spa generate", "--model is missing; e.g. ludory spa generate"),
    ("spa config show nope", "--config nope: no such file; or one of ragen/_2_sokoban"),
    ("spa --model x", "options come behind the name of a job"),
    ("sokoban bank --rooms none", "--rooms none: must be a whole number"),
    ("doctor now", "unexpected 'now'"),
    ("completion tcsh", "must be bash, zsh or fish"),
)


@pytest.fixture
def clumsy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files that are not what they should be."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "damaged.ludory").write_bytes(bytes(100))
    (tmp_path / "kept.ludory").write_bytes(bytes(100))
    (tmp_path / "misspelt.yaml").write_text("gmaes: 3\n")
    (tmp_path / "list.yaml").write_text("- games\n")
    (tmp_path / "text.txt").write_text("games: 3\n")
    (tmp_path / "broken.json").write_text("{")
    (tmp_path / "empty").mkdir()
    return tmp_path


COMPILES = "ludory: compiling this game's kernels, once on this machine (a few seconds)"


@pytest.mark.parametrize(("typed", "said"), COMMANDS, ids=[typed for typed, _ in COMMANDS])
def test_a_wrong_command_is_one_line_and_writes_nothing(
    typed: str, said: str, clumsy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(clumsy.rglob("*"))
    assert main(shlex.split(typed)) == INPUT
    printed = capsys.readouterr()
    # A move can only be refused by compiled rules; on a machine that never ran the game a line says that they are compiled.
    lines = [line for line in printed.err.splitlines() if line != COMPILES]
    assert len(lines) == 1
    assert said in lines[0]
    assert printed.out.count("\n") <= typed.startswith("train")  # which says who plays before it makes the network
    assert sorted(clumsy.rglob("*")) == before


def test_every_command_is_among_them() -> None:
    assert {typed.split()[0] for typed, _ in COMMANDS} >= set(commands.ids())


def started() -> Any:
    env = gym.make(GAME)
    env.reset(seed=1)
    return env


def ppo(**options: Any) -> Any:
    return ludory.make_algorithm("ppo", GAME, num_envs=8, n_steps=8, batch_size=8, **options)


CALLS: tuple[tuple[Callable[[], Any], str], ...] = (
    (lambda: ludory.make_game(3), "ludory list games"),  # type: ignore[arg-type]
    (lambda: ludory.make_game("Hanabi-v0", players="3"), "players='3': must be an integer from 2 to 5"),
    (lambda: ludory.make_game("Hanabi-v0", player=3), "did you mean 'players'"),
    (lambda: ludory.make_engine(GAME, 2.5), "num_games=2.5: must be an integer of at least 1"),  # type: ignore[arg-type]
    (lambda: ludory.make_engine(GAME, device="gpu"), "must be 'cpu', 'cuda' or 'cuda:<number>'"),
    (lambda: ludory.make_engine(GAME, threads="all"), "threads='all': must be at least 1"),  # type: ignore[arg-type]
    (lambda: ludory.make_agent(3, GAME), "must be the name of an agent"),
    (lambda: ludory.evaluate([], GAME), "got 0 agents; give 2, or one for all seats"),
    (lambda: ludory.evaluate("random", GAME, games="ten"), "games='ten': must be an integer"),  # type: ignore[arg-type]
    (lambda: ludory.load("missing.ludory"), "train one with `ludory train`"),
    (lambda: ludory.load("damaged.ludory"), "not a checkpoint of Ludory, or damaged"),
    (lambda: ludory.load(3), "must be the path of a checkpoint"),  # type: ignore[arg-type]
    (lambda: ludory.load("kept"), "kept: no such file; did you mean kept.ludory?"),
    (lambda: ludory.exploitability("random", GAME), "choose KuhnPoker-v0 or LeducPoker-v0"),
    (lambda: ludory.best_response("random", "KuhnPoker-v0", seat=2), "seat=2: KuhnPoker-v0 has the seats 0 to 1"),
    (lambda: ludory.train("ppo", 3), "must be the id of a game"),  # type: ignore[arg-type]
    (lambda: gym.make(GAME, seats=9), "must be 'all' or a seat 0..1"),
    (lambda: gym.make(GAME, illegal="ignore"), "must be 'lose'"),
    (lambda: gym.make(GAME, render_mode="x"), "render_mode='x'"),
    (lambda: started().step("left"), "action must be one integer 0..7, got 'left'"),
    (lambda: started().step(np.zeros(3, int)), "action must be one integer 0..7"),
    (lambda: started().reset(options={"dek": []}), "did you mean 'deck'"),
    (lambda: ludory.make_algorithm("ppo", 3), "must be a game id"),
    (lambda: ppo(learning_rate="fast"), "learning_rate='fast': must be a number"),
    (lambda: ppo(learning_rate=None), "learning_rate=None: must be a number"),
    (lambda: ppo(n_epochs=1.5), "n_epochs=1.5: must be an integer"),
    (lambda: ppo(n_epochs=True), "n_epochs=True: must be an integer"),
    (lambda: ppo(compile="yes"), "compile='yes': must be True or False"),
    (lambda: ppo(seats=None), "seats=None: must be a text"),
    (lambda: ppo(hidden=64), "such as (256, 256)"),
    (lambda: ppo(n_epoch=2), "did you mean 'n_epochs'"),
    (lambda: ppo(policy=3), "must be the name of a network, such as 'mlp'"),
    (lambda: ppo().learn("long"), "must be a number of decisions"),
    (lambda: ppo().learn(8, log_interval=0), "log_interval=0: must be an integer of at least 1"),
    (lambda: ppo().predict(np.zeros(3)), "must be (91,) or (m, 91)"),
)


@pytest.mark.parametrize(("call", "said"), CALLS, ids=[said for _, said in CALLS])
def test_a_wrong_call_raises_an_error_of_ludory(call: Callable[[], Any], said: str, clumsy: Path) -> None:
    with pytest.raises(LudoryError) as found:
        call()
    assert said in str(found.value)


def test_an_illegal_move_of_a_gymnasium_game_warns_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from ludory.envs.views import common

    said: list[str] = []
    monkeypatch.setattr(common, "_WARNED", set())
    monkeypatch.setattr(gym.logger, "warn", said.append)
    for _ in range(2):
        env = started()
        mask = env.action_masks() if hasattr(env, "action_masks") else env.unwrapped.action_masks()
        assert env.step(int(np.flatnonzero(~mask)[0]))[2]
    assert len(said) == 1
    assert "illegal='raise'" in said[0]
