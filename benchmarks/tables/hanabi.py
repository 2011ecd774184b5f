"""Rows of Hanabi's tables: trained agents, cross-play, search, and networks that learn from a search."""

from __future__ import annotations

from pathlib import Path

from ludory.benchmarks.hanabi.cross_play import with_others

from . import Report, Rows

SEARCHERS = {"single": "one seat", "joint": "both seats", "independent": "both seats, each as if the other did not,"}
"""Who searches, by the contender of `ludory bench hanabi-search`."""
SECOND_ROUND_GAMES = 2000
"""A second round of distillation from fewer searched games is not shown."""


def stream_rows(report: Report) -> Rows:
    """A row for each clone: score, bombs and perfect games, beside the bot."""
    for clone in report["clones"]:
        trained = (
            f"{clone['decisions'] / 1e6:.0f} M decisions of `{report['bot']}`, {clone['cpu_seconds'] / 60:.0f} CPU-min"
        )
        told = f"`{report['policy']}`, {report['observation']}, {trained}"
        yield _learnt(report, "bc --stream", clone["seed"], clone["evaluation"], told)


def bc_rows(report: Report) -> Rows:
    """As `stream_rows`, of a clone from recorded games."""
    trained = f"{report['games']:,} games of `{report['bot']}`, held-out accuracy {report['held_out']['accuracy']:.1%}"
    yield _learnt(report, "bc", report["seed"], report["evaluation"], trained)


def ppo_rows(report: Report) -> Rows:
    """As `stream_rows`, of an agent that PPO trained."""
    minutes = sum(stage["minutes"] for stage in report["stages"])
    steps = sum(stage["timesteps"] for stage in report["stages"])
    seen = report.get("observation", "card_knowledge")
    start = f"from `{Path(report['init_from']).stem}`, " if report.get("init_from") else ""
    taught = f"taught by `{Path(report['teacher']).stem}` in its first stage, " if report.get("teacher") else ""
    time = f"{minutes:.0f} CPU-min" if report.get("device", "cpu") == "cpu" else f"{minutes:.1f} minutes on the clock"
    trained = f"{start}{taught}{time}, {steps / 1e6:.0f} M decisions"
    network = "gru, " if report["stages"][0].get("policy", "").startswith("gru") else ""
    yield _learnt(report, f"ppo, {network}{seen}", report["seed"], report["evaluation"], trained)


def _learnt(report: Report, name: str, seed: int, evaluation: Report, trained: str) -> tuple[str, ...]:
    agent, ahead = evaluation["agent"], evaluation["ahead"]
    beside = next(key for key in evaluation if "/" in key)
    games = f"({evaluation['games']} games, decks {evaluation['decks_seed']})"
    return (
        f"`{name}`, seed {seed}, {report['benchmark']}",
        f"`{report['game']}`",
        f"{agent['mean']:.2f} ± {agent['stderr']:.2f} {games}",
        f"{agent['bomb']:.1%}",
        f"{agent['perfect']:.1%}",
        f"{ahead['mean']:+.2f} ± {ahead['stderr']:.2f} to `{beside}`",
        trained,
    )


def cross_play_rows(report: Report) -> Rows:
    """Scores with copies of itself and with others."""
    scores = report["scores"]
    for name in report["agents"]:
        others = [other for other in report["agents"] if other != name]
        worst = min(others, key=lambda other: scores[name][other]["mean"] + scores[other][name]["mean"])
        low = (scores[name][worst]["mean"] + scores[worst][name]["mean"]) / 2
        own = scores[name][name]
        yield (
            f"`{name}`",
            f"{own['mean']:.2f} ± {own['stderr']:.2f}",
            f"{with_others(scores, name):.2f}",
            f"{low:.2f} with `{worst}`",
            f"{report['games']:,} games of each pair, decks {report['decks_seed']}",
        )


def search_rows(report: Report) -> Rows:
    """Gain over the blueprint, and its cost."""
    for one in report["contenders"]:
        if gain := one["gain"]:
            who = SEARCHERS[one["contender"]]
            yield (
                f"{who} over `{report['blueprint']}`, {one['decks']} decks of seed {report['decks_seed']}",
                f"{one['budget']:,}",
                f"{gain['mean']:+.2f} [{gain['low']:+.2f}, {gain['high']:+.2f}]",
                f"{one['cpu_seconds']:.1f}",
            )


def distill_rows(report: Report) -> Rows:
    """Scores, and differences on the same decks."""
    evaluation, second = report["evaluation"], report["second"]
    learnt = {
        report["bot"]: "a rule bot",
        "clone": f"from {report['clone']['games']:,} games of the bot",
        "sequences": f"from {report['search']['games']:,} games of the bot's search, {report['search']['rollouts']} rollouts, from the clone",
        "seed": "the same games as single decisions without memory or Q",
        "second round": f"from {second['games']:,} games of the search over `sequences`",
    }
    for name, one in report["scores"].items():
        if name == "second round" and second["games"] < SECOND_ROUND_GAMES:
            continue
        ahead = [
            f"{found['ahead']:+.2f} ± {found['stderr']:.2f} to {found['beside']}"
            for found in report["differences"]
            if found["agent"] == name
        ]
        decks = f"{evaluation['games']:,} decks of seed {evaluation['decks_seed']}"
        score = f"{one['mean']:.2f} ± {one['stderr']:.2f}"
        yield f"{name}, seed {report['seed']}", learnt[name], score, "; ".join(ahead), decks
