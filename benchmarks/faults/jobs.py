"""The jobs that go on after a kill, each in its smallest form: one entry of a table, with how to begin, go on, and read the result."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ludory.errors import LudoryError

from . import outcomes
from .commands import Commands
from .findings import Items, last_line

TINY, DUEL, HAND = "HanabiTiny2P-v0", "Arena2P-v0", "Texas42Play-v0"
INPUTS = "INPUTS"
"""Stands in a command for the folder of what several jobs read."""


@dataclass(frozen=True, slots=True)
class Job:
    """A command that resumes."""

    command: str
    """Words without "ludory", split at blanks."""
    result: Callable[[Path], Items]
    """Of the working folder."""
    again: str | None = None
    """How to go on, if not with the same command; used once `begun` is there."""
    begun: str = ""
    """File that shows that there is something to go on with."""
    needs: tuple[str, ...] = ()
    """Keys of `INPUTS_MADE`."""
    copies: str = ""
    """Of them, the folder that the job works in: it is copied to the working folder."""
    grows: tuple[str, ...] = ("*.csv", "*events.out.tfevents*", "*hparams.yaml")
    """Files of which a resumed run may leave more: parts of tables of metrics."""
    shared: bool = False
    """Whether two processes may do it together; else the second is refused."""

    def words(self, inputs: Path, folder: Path) -> list[str]:
        """The command to give now."""
        resumes = self.again is not None and (folder / self.begun).exists()
        return filled(str(self.again) if resumes else self.command, inputs)


def filled(command: str, inputs: Path) -> list[str]:
    """Words of a command."""
    return [word.replace(INPUTS, str(inputs)) for word in command.split()]


_PPO = "--num-envs 16 --n-steps 8 --batch-size 64 --save-every 0.2 --timesteps 9000 --seed 3 --resume"
_VTRACE = "--num-envs 16 --n-steps 8 --batch-columns 8 --save-every 0.2 --timesteps 6000 --seed 3 --resume"
_SMALL = "--policy mlp(hidden=(16,))"
_LEAGUE = (
    f"league run --env {DUEL} --teacher {INPUTS}/teacher.ludory --budget 3500 --unit 700 --slice-steps 400 --games-per-match 4 "
    "--evaluation-games 4 --anchors arena/rusher --seed 3 --out league -- --num-envs 16 --n-steps 8 --batch-columns 16"
)
_SUPERVISED = "--split-ratio 0.8 0.2 0 --batch-size 64 --save-every 0.2 --seed 3 --resume"

INPUTS_MADE = {
    "teacher.ludory": f"train vtrace --env {DUEL} {_SMALL} --num-envs 2 --n-steps 8 --batch-columns 2 --timesteps 32 --seed 3 "
    f"--out {INPUTS}/teacher.ludory",
    "imitated": f"record hanabi/iggi --game {TINY} --games 60 --seed 1 --out {INPUTS}/imitated",
    "searched": f"record sparta(hanabi/smartbot,rollouts=16,threshold=0,errors=0) --game {TINY} --games 16 --seed 3 "
    f"--format jsonl --out {INPUTS}/searched",
    "ticks": f"record arena/random arena/rusher --game {DUEL} --games 1 --seed 3 --format recorder --out {INPUTS}/ticks",
    "labels": f"texas42 labels --seeds 0-99 --paths 1 --worlds 1 --out {INPUTS}/labels",
    "validation": f"texas42 labels --seeds 900-949 --paths 1 --worlds 1 --out {INPUTS}/labels",
    "states": f"texas42 generate --seeds 2 --max-states 300 --out {INPUTS}/states",
    "hands": f"texas42 eq --seeds 0 --n-samples 5 --enumerate-below 5 --out {INPUTS}/hands",
    "wheel": f"flywheel run --env {TINY} --blueprint hanabi/piers --search sparta({{blueprint}},rollouts=10) --learner bc "
    f"--policy mlp(hidden=(8,)) --learner-option num_epochs=1 --learner-option split_ratio=(1,0,0) --games 4 --eval-games 4 --turns 1 --seed 3 --out {INPUTS}/wheel",
    "replay": f"watch {TINY} hanabi/piers --seed 3 --delay 0 --replay {INPUTS}/replay/replay.json",
    "minari": f"convert {INPUTS}/imitated --from ludory --out {INPUTS}/minari",
    "league": _LEAGUE.replace("--out league", f"--out {INPUTS}/league"),
}
"""What several jobs and formats read: name in the folder of inputs -> command."""

JOBS = {
    "record": Job(
        f"record random hanabi/piers --game {TINY} --games 2000 --shard-games 250 --seed 3 --out games",
        lambda folder: outcomes.recorded_games(folder / "games"),
        shared=True,
    ),
    "record search": Job(
        f"record sparta(hanabi/piers,rollouts=200,threshold=0,errors=0) --game {TINY} --games 24 --shard-games 8 --seed 3 "
        "--format jsonl --out games",
        lambda folder: [
            *outcomes.recorded_games(folder / "games"),
            *outcomes.json_lines(folder / "games" / "sparta_games.jsonl"),
        ],
        shared=True,
    ),
    "record recorder": Job(
        f"record arena/random arena/rusher --game {DUEL} --games 24 --shard-games 6 --seed 3 --format recorder --out games",
        lambda folder: [
            *outcomes.recorded_games(folder / "games"),
            *((name, name) for name in outcomes.files(folder / "games" / "recorder")),
        ],
        shared=True,
    ),
    "train ppo": Job(
        f"train ppo --env {DUEL} {_SMALL} {_PPO} --seats 0 --others random --out model.ludory",
        lambda folder: outcomes.weights(folder / "model.ludory"),
    ),
    "train vtrace": Job(
        f"train vtrace --env {DUEL} {_SMALL} {_VTRACE} --seats 0 --others random(seed=3) --out model.ludory",
        lambda folder: outcomes.weights(folder / "model.ludory"),
    ),
    "train bc": Job(
        f"train bc --env {TINY} --policy mlp(hidden=(16,)) --dataset {INPUTS}/imitated --num-epochs 20 {_SUPERVISED} "
        "--out model.ludory",
        lambda folder: outcomes.weights(folder / "model.ludory"),
        needs=("imitated",),
    ),
    "train distill": Job(
        f"train distill --env {TINY} --policy hanabi_gru(hidden=(16,),memory_size=12) --dataset {INPUTS}/searched "
        f"--num-epochs 20 --eval-games 0 {_SUPERVISED} --out model.ludory",
        lambda folder: outcomes.weights(folder / "model.ludory"),
        needs=("searched",),
    ),
    "league run": Job(
        _LEAGUE,
        lambda folder: outcomes.league(folder / "league"),
        again="league resume league",
        begun="league/events.jsonl",
        needs=("teacher.ludory",),
    ),
    "league exploit": Job(
        "league exploit league --steps 300 --seeds 3 --games 8",
        lambda folder: outcomes.json_file(folder / "league" / "exploiters.json"),
        needs=("teacher.ludory", "league"),
        copies="league",
    ),
    "texas42 generate": Job(
        "texas42 generate --seeds 1-6 --max-states 300 --out shards",
        lambda folder: outcomes.tables(folder / "shards"),
        shared=True,
    ),
    "texas42 eq": Job(
        "texas42 eq --seeds 0-11 --n-samples 10 --enumerate-below 20 --out eq",
        lambda folder: [
            item for file in sorted((folder / "eq").rglob("*.safetensors")) for item in outcomes.tensors(file)
        ],
        shared=True,
    ),
    "texas42 train": Job(
        f"texas42 train --dataset {INPUTS}/labels --policy domino(width=16,num_layers=1,num_heads=2,feedforward=16) "
        "--num-epochs 6 --batch-size 256 --save-every 0.2 --seed 3 --resume --out model.ludory",
        lambda folder: outcomes.weights(folder / "model.ludory"),
        needs=("labels", "validation"),
    ),
    "flywheel run": Job(
        f"flywheel run --env {TINY} --blueprint hanabi/piers --search sparta({{blueprint}},rollouts=20) --learner bc "
        "--policy mlp(hidden=(8,)) --learner-option num_epochs=4 --learner-option split_ratio=(1,0,0) --games 8 --eval-games 20 --turns 2 --seed 3 --out wheel",
        lambda folder: outcomes.json_file(folder / "wheel" / "flywheel.json"),
        again="flywheel resume wheel",
        begun="wheel/flywheel.json",
    ),
    "bench texas42-strength": Job(
        "bench texas42-strength texas42/quick --rival random --deals 60 --seed 3 --out duels",
        lambda folder: [item for file in (folder / "duels").glob("*.jsonl") for item in outcomes.json_lines(file)],
    ),
    "train pipeline": Job(
        f"train pipeline --env {DUEL} --demonstrators arena/random,arena/rusher --games 24 --policy mlp(hidden=(8,)) --epochs 1 "
        "--finetune 17000 --league 17000 --seed 3 --out line",
        lambda folder: [
            *outcomes.weights(folder / "line" / "tuned.ludory"),
            *outcomes.league(folder / "line" / "league"),
        ],
    ),
}
"""Name -> job. A new resumable command is one more entry."""


MAKING = threading.RLock()
"""Held while inputs are made, which cases that run at once share."""


def make_input(name: str, inputs: Path, commands: Commands) -> None:
    """Make an input that is not there yet.

    Raises:
        LudoryError: the command failed.
    """
    done = inputs / f".{name}.made"
    with MAKING:
        if done.exists():
            return
        inputs.mkdir(parents=True, exist_ok=True)
        for before in (one for one in INPUTS_MADE if f"{INPUTS}/{one} " in f"{INPUTS_MADE[name]} " and one != name):
            make_input(before, inputs, commands)
        if (inputs / name).is_dir():
            shutil.rmtree(inputs / name)
        words = filled(INPUTS_MADE[name], inputs)
        ended = commands.run(words, inputs)
        if ended.code != 0:
            raise LudoryError(f"ludory {' '.join(words)} ended with exit code {ended.code}: {last_line(ended.err)}")
        done.touch()


def prepared(job: Job, folder: Path, inputs: Path, commands: Commands) -> Path:
    """An empty working folder, or one with a copy of the job's input."""
    for name in job.needs:
        make_input(name, inputs, commands)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if job.copies:
        shutil.copytree(inputs / job.copies, folder / job.copies)
    return folder


def ran(job: Job, folder: Path, inputs: Path, commands: Commands) -> float:
    """Do a job undisturbed; returns the seconds that it took.

    Raises:
        LudoryError: it failed.
    """
    ended = commands.run(job.words(inputs, folder), folder)
    if ended.code != 0:
        raise LudoryError(f"ludory {job.command} ended with exit code {ended.code}: {last_line(ended.err)}")
    return ended.seconds


def left_behind(job: Job, expected: Sequence[str], folder: Path) -> list[str]:
    """Files that an undisturbed run does not leave."""
    grown = [name for pattern in job.grows for name in map(str, folder.rglob(pattern))]
    return [name for name in outcomes.files(folder) if name not in expected and str(folder / name) not in grown]
