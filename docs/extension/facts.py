"""Directives that ask the code: what a game is, what an id means, which options a class has."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from ludory import make_agent, make_game, plugins
from ludory.agents.pretrained.cards import PretrainedCard, pretrained_agents, read_card
from ludory.algorithms.tuned.settings import TunedSettings, tuned_algorithms, tuned_games
from ludory.data.replay import frames, record_replay
from ludory.envs.game import Game
from ludory.envs.pictures import plain, text_picture
from ludory.plugins.source import arguments_of

from .documented_fields import documented_fields
from .markdown import MarkdownDirective, code, table

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"


def _given(words: list[str]) -> tuple[str, dict[str, Any]]:
    """An id, and the options of the form name=value behind it."""
    name, *rest = words
    pairs = (word.split("=", 1) for word in rest)
    return name, {key: int(value) if value.lstrip("-").isdigit() else value for key, value in pairs}


class Facts(MarkdownDirective):
    """`{facts} ID [option=value ...]`: players, turns, rewards, actions and what its engine can do."""

    def markdown(self) -> str:
        """A table of two columns."""
        id, options = _given(self.arguments)
        return table(("", f"`{id}`"), _facts(make_game(id, **options)))


def _facts(game: Game) -> Iterator[tuple[str, str]]:
    facts = game.facts
    yield "players", str(facts.players)
    yield "turns", "all seats at once" if facts.simultaneous else "one seat after the other"
    rewards = {"shared": "shared by all seats", "zero_sum": "zero-sum", "general": "each seat has its own"}
    yield "rewards", f"{rewards[facts.reward]}; a return lies in {facts.min_return:g} to {facts.max_return:g}"
    if facts.teams:
        yield "teams", ", ".join(f"seat {seat}: team {team}" for seat, team in enumerate(facts.teams))
    yield "hidden information", "yes" if facts.hidden_information else "no"
    yield "chance", "yes" if facts.chance else "no"
    heads = "; ".join(f"{head.name}: {head.size}" for head in facts.heads)
    yield "actions", f"{heads} (legal mask: {facts.num_actions} columns)" if heads else f"{facts.action_size} numbers"
    spec = facts.observation
    bits = "bits" if spec.bits else spec.dtype
    yield "observation", f"`{spec.name}`, {spec.size:,} {bits}"
    unit = "rounds" if facts.simultaneous else "decisions"
    yield "longest game", f"{facts.longest_game:,} {unit}"
    able = {"copied": game.clones, "redealt": game.redeals, "saved while it runs": game.saves}
    yield "can be", ", ".join(name for name, is_able in able.items() if is_able) or "played only"


class Observation(MarkdownDirective):
    """`{observation} ID [option=value ...]`: the named segments of what a seat sees."""

    def markdown(self) -> str:
        """A row for each segment; runs of segments with the same shape of name are one row."""
        id, options = _given(self.arguments)
        spec = make_game(id, **options).facts.observation
        rows = ((code(one.name), one.start, one.length) for one in spec.segments)
        return table((f"segment of `{spec.name}`", "first entry", "entries"), rows)


class Actions(MarkdownDirective):
    """`{actions} ID [option=value ...]`: every value of every head of an action, by name."""

    def markdown(self) -> str:
        """A row for each head; long lists are cut in the middle."""
        id, options = _given(self.arguments)
        game = make_game(id, **options)
        rows = []
        for number, head in enumerate(game.facts.heads):
            names = [f"{value}: {game.look.action_name(number, value)}" for value in range(head.size)]
            shown = names if len(names) <= 24 else [*names[:12], "...", *names[-6:]]
            rows.append((code(head.name), head.size, ", ".join(shown)))
        return table(("head", "values", "names"), rows)


class Ids(MarkdownDirective):
    """`{ids} KIND [PREFIX ...]`: registered ids with their summaries; with prefixes, only those that start with one of them."""

    def markdown(self) -> str:
        """A row for each id."""
        kind, *prefixes = self.arguments
        registry = getattr(plugins, kind)
        rows = []
        for id in [*registry.ids(), *registry.schemes()]:
            one = registry.describe(id)
            if one.distribution == "ludory" and (not prefixes or id.startswith(tuple(prefixes))):
                more = f" `{arguments_of(registry.get(id))}`" if kind == "networks" else ""
                rows.append((code(id), one.summary + more))
        if not rows:
            raise self.error(f"no {kind} start with {', '.join(prefixes)}")
        return table(("id", "what"), rows)


class Options(MarkdownDirective):
    """`{options} ALGORITHM` or `{options} package.module:Class`: the fields of a config, with defaults and docstrings."""

    def markdown(self) -> str:
        """A row for each field, the class's own before those that it inherits."""
        (name,) = self.arguments
        if ":" in name:
            module, _, attribute = name.partition(":")
            config = getattr(importlib.import_module(module), attribute)
        else:
            config = plugins.algorithms.load(name).config_class
        fields = documented_fields(config)
        if not fields:
            raise self.error(f"{name} has no fields")
        rows = ((code(one.name), code(one.default), one.doc) for one in fields)
        return table(("option", "default", "what"), rows)


class Picture(MarkdownDirective):
    """`{picture} ID AGENT SEAT MOVES SEED [option=value ...]`: the game after so many moves of an agent, as the seat sees it."""

    def run(self) -> list[nodes.Node]:
        """The game's own SVG, or its text."""
        id, agent, seat, moves, seed, *rest = self.arguments
        _, options = _given([id, *rest])
        game = make_game(id, **options)
        svg, text = picture_after(game, agent, None if seat == "all" else int(seat), int(moves), int(seed))
        if svg:
            return [nodes.raw("", f'<div class="game-picture">{svg}</div>', format="html")]
        return [nodes.literal_block(text, text)]


def picture_after(game: Game, agent: str, seat: int | None, moves: int, seed: int) -> tuple[str, str]:
    """SVG, "" if the game draws none, and text of game 0 of `seed` after so many moves of `agent` in all seats."""
    players = [make_agent(agent, game) for _ in range(game.facts.players)]
    for number, player in enumerate(players):
        player.seed(seed + number)
    replay = record_replay(game, players, seed)
    *_, engine = islice(frames(replay, game), moves + 1)
    svg = game.look.svg(engine.state, 0, seat) if game.look.svg else ""
    return svg, plain(text_picture(game, engine.state, 0, seat))


class Baselines(MarkdownDirective):
    """`{baselines} ID ...`: scores of agents that need no training, from benchmarks/results/baselines.json."""

    def markdown(self) -> str:
        """A row for each line-up that was played."""
        report: Mapping[str, Any] = json.loads((RESULTS / "baselines.json").read_text(encoding="utf-8"))
        found = [row for row in report["rows"] if row["game"] in self.arguments]
        if not found:
            raise self.error(f"no baselines of {', '.join(self.arguments)}; run `ludory bench baselines`")
        rows = (
            (
                code(one["game"]),
                code(one["agent"]),
                code(one["others"]) or ("itself" if make_game(one["game"]).facts.players > 1 else ""),
                f"{one['mean']:.2f} ± {one['stderr']:.2f}",
                f"{one['games']:,}",
            )
            for one in found
        )
        return table(("game", "agent", "in the other seats", "mean return ± standard error", "games"), rows)


class Tuned(MarkdownDirective):
    """`{tuned} NAME ...`: tuned settings and their scores, of the algorithms and of the games that are named."""

    def markdown(self) -> str:
        """A row for each algorithm and game."""
        entries = [(name, entry) for name in tuned_algorithms() for entry in tuned_games(name).values()]
        found = [(name, entry) for name, entry in entries if {name, entry.game} & set(self.arguments)]
        if not found:
            raise self.error(f"no tuned settings of {', '.join(self.arguments)}")
        header = ("algorithm and game", "score and baseline", "timesteps", "settings that differ from the defaults")
        return table(header, (_tuned_row(name, entry) for name, entry in found))


class Pretrained(MarkdownDirective):
    """`{pretrained}`: the agents that ship, with their scores and the commands that made them."""

    required_arguments = 0

    def markdown(self) -> str:
        """A row for each card."""
        cards = [card for name in pretrained_agents() if (card := read_card(name))]
        return table(("agent", "game", "score", "made by"), map(_card_row, cards))


def _card_row(card: PretrainedCard) -> tuple[str, str, str, str]:
    scores = [
        f"{one.mean:.2f} ± {one.stderr:.2f} "
        + (f"against {code(one.rival)}" if one.against else f"({code(one.rival)}: {one.rival_mean:.2f})")
        for one in (card.score, *card.more_scores)
    ]
    exact = [] if card.exploitability is None else [f"exploitability {card.exploitability:.1g}"]
    return code(card.agent), code(card.game), "; ".join(scores + exact), code(card.command)


def _tuned_row(algorithm: str, entry: TunedSettings) -> tuple[str, str, str, str]:
    stages = [f"{stage.name}: {_assigned({**stage.options, **stage.settings})}" for stage in entry.stages]
    return (
        f"`{algorithm}`, `{entry.game}`",
        entry.reached.says(f"`{entry.baseline}`") if entry.reached else "not measured yet",
        f"{entry.timesteps:,}",
        "; ".join([_assigned({**entry.options, **entry.settings}), *stages]),
    )


def _assigned(settings: Mapping[str, Any]) -> str:
    """Each setting is code of its own, so that lines can break between them."""
    return ", ".join(code(f"{name}={value!r}") for name, value in settings.items())


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives."""
    kinds = {
        "facts": Facts,
        "observation": Observation,
        "actions": Actions,
        "ids": Ids,
        "options": Options,
        "picture": Picture,
        "baselines": Baselines,
        "tuned": Tuned,
        "pretrained": Pretrained,
    }
    for name, kind in kinds.items():
        app.add_directive(name, kind)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
