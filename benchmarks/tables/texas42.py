"""Rows of the table of Texas 42: what was measured, the number, and the goal."""

from __future__ import annotations

from ludory.benchmarks.texas42.speed import rows as speed_rows

from . import Report, Rows, RowsOf


def _strength_rows(report: Report) -> Rows:
    for duel in report["duels"]:
        rates = [
            f"{100 * rate:.1f} ± {100 * error:.1f}"
            for rate, error in zip(duel["make_rates"], duel["make_rate_errors"], strict=True)
        ]
        deals = sum(duel["pairs"].values())
        yield (
            f"30-bids made, `{duel['first']}` against `{duel['second']}`, {deals:,} deals",
            f"{rates[0]} %, the other way round {rates[1]} %, McNemar z {duel['mcnemar_z']:+.1f}",
            "",
        )


def _bidding_rows(report: Report) -> Rows:
    if "matches" in report:
        found = report["matches"]
        ahead = found["marks_per_game"]
        yield (
            f"marks a game, `{report['bidder']}` against `{report['rival']}`, {found['pairs']} pairs of matches",
            f"{ahead['mean']:+.2f} [{ahead['low']:+.2f}, {ahead['high']:+.2f}], wins {100 * found['wins']:.1f} %",
            "+0.5",
        )
    if "calibration" in report:
        every, deciles = report["calibration"]["all"], report["calibration"]["deciles"]
        for name, words in (("rollout", "hands played"), ("calibrated", "fitted"), ("open_hands", "open hands")):
            errors = [100 * abs(one[name] - one["made"]) for one in deciles]
            yield (
                f"P(make) by {words}, {every['n']:,} contracts",
                f"{100 * every[name]:.1f} % expected, {100 * every['made']:.1f} % made; errors of tenths {sum(errors) / len(errors):.1f}, at most {max(errors):.1f}",
                "3",
            )


def _network_rows(report: Report) -> Rows:
    for player, found in report["validation"].items():
        first, every = found["by_decision"]["0"], found["overall"]
        if "zero_regret_states" in every:
            found_mae = f"; error of a tile {every['q_mae_states']:.2f} points" if "q_mae_states" in every else ""
            yield (
                f"points lost a state of all that a deal can reach, {player if player != 'network' else 'network of ' + report['recipe']}",
                f"{every['q_gap_states']:.3f}, none in {100 * every['zero_regret_states']:.1f} %{found_mae}",
                "0.071, none in 97.8 %; 0.94 points" if player == "network" else "",
            )
        yield (
            f"points lost a decision, {player if player != 'network' else 'network of ' + report['recipe']}",
            f"{every['q_gap']:.2f}, none in {100 * every['zero_regret']:.1f} %; first lead {first['q_gap']:.2f}, {100 * first['zero_regret']:.1f} %",
            "",
        )


TEXAS42: RowsOf = {
    "texas42-speed": speed_rows,
    "texas42-strength": _strength_rows,
    "texas42-bidding": _bidding_rows,
    "texas42-network": _network_rows,
}
