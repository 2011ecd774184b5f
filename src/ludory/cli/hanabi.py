"""`ludory hanabi`: jobs that only Hanabi has."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from ludory.arguments import Positional, as_typed
from ludory.cli.common import (
    EnvId,
    File,
    FileArgument,
    GameOptions,
    Maybe,
    check_new,
    file_with_suffix,
    parse,
    parse_options,
    run_job,
)
from ludory.errors import LudoryError
from ludory.visible import visible

JOBS = {
    "import-gru": ("hanabi:import_gru", "turn a checkpoint of HIKARU's PPO-GRU into one of Ludory"),
    "export-gru": ("hanabi:export_gru", "turn a checkpoint of Ludory into one of HIKARU's PPO-GRU"),
    "live": ("hanabi:live", "an agent at tables of hanab.live: websocket messages in, websocket messages out"),
}


def run(argv: list[str]) -> int:
    """Do one of the jobs; returns the exit code."""
    return run_job("hanabi", "Jobs that only Hanabi has.", JOBS, argv)


@dataclass(frozen=True, kw_only=True)
class _Checkpoint:
    file: FileArgument
    """Checkpoint to read."""
    action_order: str = "play_first_bw"
    """How the .pt file numbers actions: play_first_bw (its training), play_first (its search) or ludory."""
    out: Maybe[File] = None
    """File to write (default: FILE with the other ending)."""


@dataclass(frozen=True, kw_only=True)
class _Import(GameOptions, _Checkpoint):
    """Turn a checkpoint of HIKARU's PPO-GRU (torch.save) into one of Ludory (.ludory). Nothing in the file is executed.

    Example: ludory hanabi import-gru ckpt.pt --observation card_knowledge
    """

    observation: Maybe[str] = None
    """What the network sees: card_knowledge, minimal, seer, tactical or v0_belief."""
    env: EnvId = "Hanabi2P-v0"
    """Id of the Hanabi that it plays."""


@dataclass(frozen=True, kw_only=True)
class _Export(_Checkpoint):
    """Turn a checkpoint of Ludory with a hanabi_gru or gru network into one of HIKARU's PPO-GRU (.pt).

    The file is written by torch.save of {'model': state dict}, which torch.load reads with weights_only=True.

    Example: ludory hanabi export-gru runs/gru.ludory
    """


@dataclass(frozen=True, kw_only=True)
class _Live(GameOptions):
    """Read the messages that hanab.live sends over a websocket, one on each line, and print those that an agent answers.

    A program that holds the connection, signs in and joins tables starts this command and passes lines both ways. Tables of variants and options with other rules are refused.

    Example: ludory hanabi live hanabi/smartbot
    """

    agent: Positional[str]
    """Id, id(option=1) or checkpoint."""


def live(argv: list[str]) -> int:
    """Answer every line of the standard input until it ends; returns the exit code."""
    chosen = parse(_Live, argv, "hanabi live")
    from ludory.agents.hanabi.live import LiveClient

    client = LiveClient(chosen.agent, **parse_options(chosen.option))
    for line in sys.stdin:
        try:
            for answer in client.answer(line.rstrip("\n")):
                print(answer, flush=True)
        except LudoryError as error:  # other tables go on
            print(f"ludory: {visible(str(error))}", file=sys.stderr)
    return 0


def export_gru(argv: list[str]) -> int:
    """Write a .pt file; returns the exit code."""
    chosen = parse(_Export, argv, "hanabi export-gru")
    out = (chosen.out or chosen.file).with_suffix(".pt")
    check_new(out)
    from ludory.agents.hanabi.networks.import_hanabi_gru import export_hanabi_gru
    from ludory.algorithms import load

    model = load(chosen.file)
    written = export_hanabi_gru(model.policy, model.game, out, chosen.action_order)
    seen = model.game.facts.observation.name
    print(
        f"{out}: {len(written)} tensors for {model.game.id} with observation {seen}, actions as {chosen.action_order}"
    )
    return 0


def import_gru(argv: list[str]) -> int:
    """Write a .ludory file and say what to type next; returns the exit code."""
    chosen = parse(_Import, argv, "hanabi import-gru")
    out = file_with_suffix("--out", chosen.out or chosen.file, ".ludory")
    check_new(out)
    from ludory.agents.hanabi.networks.import_hanabi_gru import import_hanabi_gru
    from ludory.algorithms import PPO

    options = parse_options(chosen.option)
    found = import_hanabi_gru(chosen.file, chosen.action_order, chosen.observation, chosen.env, **options)
    model = PPO(found.spec, found.game)
    model.policy.load_state_dict(found.policy.state_dict())
    model.save(out)
    again = "".join(f" --option {key}={value}" for key, value in found.game.options.items())
    print(f"{out}: a network for {found.game.id}. Type next:\n")
    print(f"  ludory eval {as_typed(out)} --game {found.game.id}{again}")
    return 0
