"""`ludory pokemon`: install the simulator, and turn recorded battles into data."""

from __future__ import annotations

from ludory.cli.common import run_job

JOBS = {
    "install": ("pokemon.install:install", "fetch the simulator into the cache folder, from npm or from a packed file"),
    "pack": ("pokemon.install:pack", "write the installed simulator to one file, for machines without a network"),
    "serve": ("pokemon.install:serve", "run a Showdown server on this machine, for people and foreign bots"),
    "doctor": ("pokemon.install:doctor", "what is installed, how fast it plays, and what is missing"),
    "convert": ("pokemon.convert:convert", "replays and input logs as trajectories, with a list of rejected battles"),
    "stats": ("pokemon.files:stats", "what trajectory files contain, baselines, and warnings about their labels"),
    "split": ("pokemon.files:split", "a training and a validation file that share no battle"),
    "resimulate": ("pokemon.resimulate:run", "play recorded battles again from their input logs, and compare"),
}


def run(argv: list[str]) -> int:
    """Do one of the jobs; returns the exit code."""
    return run_job(
        "pokemon", "Install the simulator of Pokémon battles, and turn recorded battles into data.", JOBS, argv
    )
