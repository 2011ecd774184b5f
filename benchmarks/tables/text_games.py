"""Rows of the table of text games: what was measured, the number, and the goal."""

from __future__ import annotations

from collections.abc import Sequence

from ludory.benchmarks.text_games.spa_tiny import SOKOBAN, game_of
from ludory.benchmarks.text_games.text_trl import OURS, THEIRS, with_error

from . import Report, Rows, RowsOf

GOALS = {
    (SOKOBAN, 15, "40"): "10 points, each seed above 0",
    (SOKOBAN, 30, "120"): "20 points",
    ("FrozenLakeFirm-v0", 30, "40"): "10 points, each seed above 0",
}
"""Of `spa` minus `direct`, by game, epochs of fine-tuning and iterations of PPO."""


def _sokoban_rows(report: Report) -> Rows:
    units = {"rules": "steps", "with": "steps", "text": "texts", "rooms": "rooms"}
    for name, rate in report["per_cpu_second"].items():
        bar = f"{rate['bar']:,.0f}" if rate["bar"] else ""
        yield f"Sokoban, {units[name.split()[0]]} per CPU second, {name}", f"{rate['median']:,.0f}", bar
    for name, rate in report["peers"].items():
        yield f"Sokoban, steps per CPU second, {name}, same run", f"{rate['median']:,.0f}", ""


def _text_env_rows(report: Report) -> Rows:
    for name, rate in report["turns_per_cpu_second"].items():
        yield (
            f"`TextEnv`, turns per CPU second, {name}",
            f"{rate['median']:,.0f}",
            f"{rate['bar']:,}" if rate["bar"] else "",
        )


def _spa_tiny_rows(report: Report) -> Rows:
    env, epochs, one_seed = report["config"]["env"], report["config"]["epochs"], len(report["seeds"]) == 1
    trained = f"{game_of(report)}, {epochs} epochs of fine-tuning"
    where = f"{trained}: Pass@1 on unseen rooms"
    for name in ("random", "optimum"):
        yield f"{where}, {name}", _points(report["anchors"][name]["pass@1_unseen"]), ""
    for name, arm in report["arms"].items():
        points = sorted(arm, key=int)
        for point in points[-1:] if one_seed else points:
            yield (
                f"{where}, `{name}` after {point} iterations of PPO",
                _points(arm[point]["pass@1_unseen"]),
                "",
            )
    for point, one in report["difference"].items() if not one_seed else ():
        each = ", ".join(f"{100 * value:+.1f}" for value in one["each"])
        yield (
            f"{trained}: `spa` minus `direct` after {point} iterations",
            f"{_points(one['mean'])} (seeds: {each})",
            GOALS.get((env, epochs, point), ""),
        )


def _sokoban_ppo_rows(report: Report) -> Rows:
    bar = report["bar"]
    for player, score in report["unseen"].items():
        goal = f"{100 * bar['success']:.0f} within {bar['cpu_minutes']:g} CPU-minutes" if player == "ppo" else ""
        trained = f" after {report['timesteps'] / 1e6:g} M moves, {report['cpu_minutes']:.1f} CPU-minutes"
        name = f"`ppo` from planes, seed {report['seed']}{trained}" if player == "ppo" else player
        yield f"{report['game']}: unseen rooms solved, %, {name}", _points(score["success"]), goal


def _text_trl_rows(report: Report) -> Rows:
    config, seeds = report["config"], len(report["runs"])
    where = f"GRPO at {config['env']}, {config['iterations']} iterations, {seeds} {'seed' if seeds == 1 else 'seeds'}"
    for name in (OURS, THEIRS):
        rate = sum(report["tokens_per_cpu_second"][name]) / seeds
        goal = f"{report['bar']:g} times TRL's" if name == OURS else ""
        yield f"{where}: tokens learnt per CPU second, {name}", f"{rate:,.0f}", goal
    for name in (OURS, THEIRS):
        yield f"{where}: mean reward at equal tokens, {name}", with_error(report["reward_at_equal_tokens"][name]), ""


def _points(pair: Sequence[float]) -> str:
    return f"{100 * pair[0]:.1f}" + (f" ± {100 * pair[1]:.1f}" if pair[1] else "")


TEXT_GAMES: RowsOf = {
    "sokoban": _sokoban_rows,
    "text-env": _text_env_rows,
    "sokoban-ppo": _sokoban_ppo_rows,
    "spa-tiny": _spa_tiny_rows,
    "text-trl": _text_trl_rows,
}
