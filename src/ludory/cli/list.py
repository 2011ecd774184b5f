"""`ludory list`: what is installed, by id. No plugin's code is imported."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from ludory import plugins
from ludory.agents.pretrained.cards import read_card
from ludory.arguments import Arg
from ludory.plugins import LISTED, Description
from ludory.plugins.source import arguments_of
from ludory.visible import visible

from .common.options import Flag
from .common.parser import parse


@dataclass(frozen=True, kw_only=True)
class _Options:
    """Show what is installed, plugins included.

    Example: ludory list games
    """

    kind: Annotated[Literal[tuple(LISTED)] | None, Arg("KIND", positional=True)] = None  # type: ignore[valid-type]
    """What to show; none: all."""
    json: Flag = False
    """Print one JSON object, for programs."""


def run(argv: list[str]) -> int:
    """Print ids, summaries and the packages that they come from; returns the exit code."""
    chosen = parse(_Options, argv, "list")
    kinds = [chosen.kind] if chosen.kind else list(LISTED)
    if chosen.json:
        print(json.dumps({kind: _rows(kind) for kind in kinds} | {"broken": _broken(kinds)}, indent=2))
    else:
        print("\n\n".join(_table(kind) for kind in kinds))
        for offer in _broken(kinds):
            print(f"\nbroken: {visible(offer['distribution'])}: {visible(offer['problem'])}")
    return 0


def _descriptions(kind: str) -> list[Description]:
    registry = LISTED[kind]
    return [registry.describe(id) for id in [*registry.ids(), *registry.schemes()]]


def _rows(kind: str) -> list[dict[str, Any]]:
    return [one._asdict() | {"fixed": dict(one.fixed)} | _details(kind, one.id) for one in _descriptions(kind)]


def _details(kind: str, id: str) -> dict[str, Any]:
    """What only some kinds have: arguments of networks, cards of pretrained agents."""
    if kind == "networks":
        return {"arguments": _arguments(id)}
    card = read_card(id) if kind == "agents" else None
    return {} if card is None else {"card": card._asdict() | {"score": card.score._asdict()}}


def _arguments(network: str) -> str:
    return arguments_of(plugins.networks.get(network))


def _broken(kinds: list[str]) -> list[dict[str, str]]:
    return list({offer: offer._asdict() for kind in kinds for offer in LISTED[kind].broken()}.values())


def _table(kind: str) -> str:
    found = _descriptions(kind)
    widths = [max([len(one[column]) for one in found], default=0) for column in (0, 1)]
    lines = [f"{kind}:"]
    for one in found:
        lines.append(f"  {one.id:{widths[0]}}  {visible(one.summary):{widths[1]}}  {visible(one.distribution)}")
        if kind == "networks" and not one.problem and (arguments := _arguments(one.id)):
            lines.append(f"  {'':{widths[0]}}  {visible(arguments)}")
        if kind == "agents" and (card := read_card(one.id)) is not None:
            lines.append(f"  {'':{widths[0]}}  {card}")
        if one.problem:
            lines.append(f"  {'':{widths[0]}}  broken: {visible(one.problem)}")
    return "\n".join(lines)
