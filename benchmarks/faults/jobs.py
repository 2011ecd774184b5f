"""The jobs that can be resumed, each in its smallest form: one entry of a table with how to begin, resume, and read the result."""

from __future__ import annotations

import os
import random
import shutil
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ludory.cache_folder import cache_directory
from ludory.errors import LudoryError

from . import outcomes, samples
from .commands import Commands, Ended
from .findings import FaultTally, Items, Place, last_line

TINY, DUEL, HAND = "HanabiTiny2P-v0", "Arena2P-v0", "Texas42Play-v0"
INPUTS = "INPUTS"
"""Placeholder in commands for the folder of shared inputs."""


@dataclass(frozen=True, slots=True)
class Job:
    """A command that can be resumed."""

    command: str
    """Without the word "ludory"; split at blanks."""
    result: Callable[[Path], Items]
    """Reads the result from the working folder."""
    again: str | None = None
    """How to resume, if not with the same command; used once `begun` exists."""
    begun: str = ""
    """File whose existence shows that there is something to resume."""
    needs: tuple[str, ...] = ()
    """Keys of `INPUTS_MADE`."""
    copies: str = ""
    """The input that the job works in; it is copied to the working folder."""
    grows: tuple[str, ...] = ("*.csv", "*events.out.tfevents*", "*hparams.yaml")
    """Patterns of files of which a resumed run may leave more: parts of tables of metrics."""
    shared: bool = False
    """Whether two processes can share the job; otherwise the second one is refused."""

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
    f"train league --env {DUEL} --teacher {INPUTS}/teacher.ludory --timesteps 3500 --resume --eval-games 0 --unit 700 --slice-steps 400 --games-per-match 4 "
    "--evaluation-games 4 --anchors arena/rusher --seed 3 --out league -- --num-envs 16 --n-steps 8 --batch-columns 16"
)
_TEXT = "--preset compact --model small"
_SUPERVISED = "--split-ratio 0.8 0.2 0 --batch-size 64 --save-every 0.2 --seed 3 --resume"

INPUTS_MADE: dict[str, str | Callable[[Path], None]] = {
    "replays.jsonl": samples.replays,
    "spa.yaml": samples.spa_config,
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
    "turns": f"spa generate {_TEXT} --policy solver(0.7) --batches 4 --groups 8 --group-size 2 --seed 3 --out {INPUTS}/turns",
    "replay": f"watch {TINY} hanabi/piers --seed 3 --delay 0 --replay {INPUTS}/replay/replay.json",
    "minari": f"convert {INPUTS}/imitated --from ludory --out {INPUTS}/minari",
    "token_ppo": f"spa ppo {_TEXT} --settings tiny --set iterations=1 --set groups=2 --set max_new_tokens=10 --out {INPUTS}/token_ppo",
    "league": _LEAGUE.replace("--out league", f"--out {INPUTS}/league"),
}
"""Shared inputs of jobs and formats: name in the folder of inputs -> command, or a function that writes it."""

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
    "train ppo, two processes": Job(
        f"train ppo --env {DUEL} {_SMALL} {_PPO} --devices 2 --out model.ludory",
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
        f"train texas42_oracle --env Texas42Play-v0 --dataset {INPUTS}/labels --policy domino(width=16,num_layers=1,num_heads=2,feedforward=16) "
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
    "spa generate": Job(
        f"spa generate {_TEXT} --max-new-tokens 40 --batches 6 --groups 8 --group-size 2 --seed 3 --out data",
        lambda folder: outcomes.tables(folder / "data"),
    ),
    "spa sft": Job(
        f"spa sft {_TEXT} --data {INPUTS}/turns --batch-size 8 --epochs 6 --check-rooms 0 --checkpoint-every 5 --seed 3 --out sft",
        lambda folder: outcomes.tensors(folder / "sft" / "model.safetensors"),
        needs=("turns",),
    ),
    "spa ppo": Job(
        f"spa ppo {_TEXT} --settings tiny --set iterations=6 --set groups=2 --out ppo",
        lambda folder: [
            item for file in sorted((folder / "ppo").glob("*.safetensors")) for item in outcomes.tensors(file)
        ],
    ),
    "spa tiny": Job(
        "bench spa-tiny --seeds 3 --arms spa --ablations --form-steps 60 --batches 2 --groups 8 --epochs 2 --iterations 4 --eval-every 2 "
        "--rooms 4 --out tiny",
        lambda folder: [
            *outcomes.json_file(folder / "tiny" / "spa-tiny.json"),
            *outcomes.tensors(folder / "tiny" / "seed3" / "ppo-spa" / "model.safetensors"),
        ],
    ),
    "train text-ppo": Job(
        "train text-ppo --env Sokoban-v0 --preset tiny --groups 2 --group-size 2 --val-every 0 --max-new-tokens 10 --timesteps 24 "
        "--save-every 0.2 --seed 3 --eval-games 0 --resume --out model.ludory",
        lambda folder: [
            item for file in sorted((folder / "model.ludory").glob("*.safetensors")) for item in outcomes.tensors(file)
        ],
    ),
    "spa run": Job(
        f"spa run --config {INPUTS}/spa.yaml --device cpu --out spa",
        lambda folder: [
            *outcomes.json_file(folder / "spa" / "eval.json"),
            *outcomes.tables(folder / "spa" / "data"),
            *(
                (f"{part}: {name}", content)
                for part in ("sft", "ppo")
                for name, content in outcomes.tensors(folder / "spa" / part / "model.safetensors")
            ),
        ],
        needs=("spa.yaml",),
    ),
    "pokemon convert": Job(
        f"pokemon convert {INPUTS}/replays.jsonl --labels log --out battles.jsonl",
        lambda folder: [
            item for name in ("battles", "battles.rejected") for item in outcomes.json_lines(folder / f"{name}.jsonl")
        ],
        needs=("replays.jsonl",),
    ),
    "sweep": Job(
        "sweep ppo --env TicTacToe-v0 --policy mlp(hidden=(8,)) --num-envs 4 --n-steps 8 --batch-size 16 --baseline random "
        "--tune learning_rate=1e-4..1e-2 --tune gamma=0.9..1.0 --trials 6 --timesteps 400 --reports 2 --games 10 --seed 3 --out sweep",
        lambda folder: outcomes.trials(folder / "sweep"),
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
"""Name -> job. A new resumable command needs one more entry."""


MAKING = threading.RLock()
"""Held while inputs are made, since concurrent cases share them."""


def make_input(name: str, inputs: Path, commands: Commands) -> None:
    """Make an input unless it exists.

    Raises:
        LudoryError: the command failed.
    """
    done = inputs / f".{name}.made"
    with MAKING:
        if done.exists():
            return
        inputs.mkdir(parents=True, exist_ok=True)
        made = INPUTS_MADE[name]
        if callable(made):
            made(inputs / name)
            done.touch()
            return
        for before in (one for one in INPUTS_MADE if f"{INPUTS}/{one} " in f"{made} " and one != name):
            make_input(before, inputs, commands)
        if (inputs / name).is_dir():
            shutil.rmtree(inputs / name)
        words = filled(made, inputs)
        ended = commands.run(words, inputs)
        if ended.code != 0:
            raise LudoryError(f"ludory {' '.join(words)} ended with exit code {ended.code}: {last_line(ended.err)}")
        done.touch()


@dataclass(frozen=True, slots=True)
class JobTrials:
    """Trials of a job in one place, whose results are compared with that of an undisturbed run."""

    job: Job
    place: Place
    tally: FaultTally
    draw: random.Random
    whole: Path
    """Folder of the undisturbed run."""
    seconds: float
    """Duration of the undisturbed run."""

    @classmethod
    def of(cls, job: Job, place: Place) -> JobTrials:
        """Run the job undisturbed.

        Raises:
            LudoryError: the job failed.
        """
        before = len(os.listdir(cache_directory()))
        whole, seconds = _undisturbed(job, place)
        if len(os.listdir(cache_directory())) > before:  # the runs to be disturbed find the code that this one compiled
            whole, seconds = _undisturbed(job, place)
        return cls(job, place, FaultTally(), random.Random(place.seed), whole, seconds)

    def prepared(self, name: str) -> Path:
        """A working folder for the next trial."""
        return prepared(self.job, self.place.scratch / name, self.place)

    def run(self, folder: Path, **options: Any) -> Ended:
        """Run or resume the job in a folder; options as for `Commands.run`."""
        return self.place.commands.run(self.job.words(self.place.inputs, folder), folder, **options)

    def count(self, ended: Ended, sort: str, told: str) -> None:
        """Count a trial of some sort, and note what its ending shows."""
        self.tally.trials[sort] += 1
        self.tally.add_ending(ended, told)

    def compare(self, folder: Path, told: str, *, claimed: bool = False) -> None:
        """Compare the result in a folder with the undisturbed one; claimed: a difference is a false success."""
        found = FaultTally()
        try:
            found.add_difference(self.job.result(self.whole), self.job.result(folder), told)
        except (LudoryError, OSError, ValueError, KeyError) as error:
            found.add("lost", f"{told}: its result cannot be read: {error!r}")
        for one in found.findings:
            self.tally.add("false success" if claimed else one.kind, one.what)

    def go_on(self, folder: Path, told: str) -> None:
        """Resume the job in a good place; it must reach the undisturbed result."""
        ended = self.run(folder)
        self.tally.add_ending(ended, told)
        if ended.code == 0:
            self.compare(folder, told)
        else:
            self.tally.add("lost", f"{told}: does not go on, exit code {ended.code}: {last_line(ended.err)}")

    def left_behind(self, folder: Path) -> list[str]:
        """Files that the undisturbed run does not leave."""
        expected = outcomes.files(self.whole)
        grown = [name for pattern in self.job.grows for name in map(str, folder.rglob(pattern))]
        return [name for name in outcomes.files(folder) if name not in expected and str(folder / name) not in grown]


def _undisturbed(job: Job, place: Place) -> tuple[Path, float]:
    folder = prepared(job, place.scratch / "whole", place)
    ended = place.commands.run(job.words(place.inputs, folder), folder)
    if ended.code != 0:
        raise LudoryError(f"ludory {job.command} ended with exit code {ended.code}: {last_line(ended.err)}")
    return folder, ended.seconds


def prepared(job: Job, folder: Path, place: Place) -> Path:
    """An empty working folder, or one with a copy of the job's input."""
    for name in job.needs:
        make_input(name, place.inputs, place.commands)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    if job.copies:
        shutil.copytree(place.inputs / job.copies, folder / job.copies)
    return folder
