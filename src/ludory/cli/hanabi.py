"""`ludory hanabi`: jobs that only Hanabi has."""

from __future__ import annotations

import argparse
from pathlib import Path

from ludory.cli.common.options import add_options, file_with_suffix, parse_options
from ludory.errors import OptionError


def run(argv: list[str]) -> int:
    """Do one of the jobs; returns the exit code."""
    parser = argparse.ArgumentParser("ludory hanabi", description="Jobs that only Hanabi has.")
    jobs = parser.add_subparsers(dest="job", required=True)
    _add_import(jobs.add_parser("import-gru", help="turn a checkpoint of HIKARU's PPO-GRU into one of Ludory"))
    _add_export(jobs.add_parser("export-gru", help="turn a checkpoint of Ludory into one of HIKARU's PPO-GRU"))
    chosen = parser.parse_args(argv)
    return {"import-gru": _import_gru, "export-gru": _export_gru}[chosen.job](chosen)


def _add_import(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Turn a checkpoint of HIKARU's PPO-GRU (torch.save) into one of Ludory. Nothing in the file is executed."
    )
    parser.add_argument("file", type=Path, help="what torch.save wrote")
    _add_order(parser)
    parser.add_argument("--observation", help="what it saw: card_knowledge, minimal, seer or v0_belief")
    parser.add_argument("--env", default="Hanabi2P-v0", help="id of the Hanabi that it plays (default Hanabi2P-v0)")
    add_options(parser)
    parser.add_argument("--out", type=Path, help="file to write (default: FILE with the ending .ludory)")


def _add_export(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Turn a checkpoint of Ludory with a hanabi_gru network into one of HIKARU's PPO-GRU: torch.save of "
        "{'model': state dict}, which torch.load reads with weights_only=True."
    )
    parser.add_argument("file", type=Path, help="a checkpoint (.ludory)")
    _add_order(parser)
    parser.add_argument("--out", type=Path, help="file to write (default: FILE with the ending .pt)")


def _add_order(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--action-order",
        default="play_first_bw",
        help="how the .pt numbers actions: play_first_bw (default: its training), play_first (its search) or ludory",
    )


def _export_gru(arguments: argparse.Namespace) -> int:
    out = (arguments.out or arguments.file).with_suffix(".pt")
    if out.exists():
        raise OptionError(f"{out} exists; name another file with --out")
    from ludory.agents.networks.import_hanabi_gru import export_hanabi_gru
    from ludory.algorithms.make import load

    model = load(arguments.file)
    written = export_hanabi_gru(model.policy, model.game, out, arguments.action_order)
    seen = model.game.facts.observation.name
    print(
        f"{out}: {len(written)} tensors for {model.game.id} with observation {seen}, actions as {arguments.action_order}"
    )
    return 0


def _import_gru(arguments: argparse.Namespace) -> int:
    out = file_with_suffix("--out", arguments.out or arguments.file, ".ludory")
    if out.exists():
        raise OptionError(f"{out} exists; name another file with --out")
    from ludory.agents.networks.import_hanabi_gru import import_hanabi_gru
    from ludory.algorithms.ppo import PPO

    options = parse_options(arguments.option)
    found = import_hanabi_gru(arguments.file, arguments.action_order, arguments.observation, arguments.env, **options)
    model = PPO(found.spec, found.game)
    model.policy.load_state_dict(found.policy.state_dict())
    model.save(out)
    again = "".join(f" --option {key}={value}" for key, value in found.game.options.items())
    print(f"{out}: a network for {found.game.id}. Type next:\n")
    print(f"  ludory eval {out} --game {found.game.id}{again}")
    return 0
