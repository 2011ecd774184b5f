"""A league in one process: it plays, it can be killed at any moment, and goes on to the same end."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
from functools import partial
from pathlib import Path

import pytest
import torch
from support import leagues
from support.leagues import SHORT, weights

from ludory.algorithms.league.log.events import FILE, EventLog, LeagueEvent, read_events, standing
from ludory.algorithms.league.log.state import EVERY, LeagueState, fold, load_state, write_state
from ludory.algorithms.league.messages import MatchResult
from ludory.algorithms.league.run import League, resume_league, start_league
from ludory.errors import CheckpointError, DataError, OptionError, OutputError

pytestmark = pytest.mark.slow

small_config, started = partial(leagues.small_config, **SHORT), partial(leagues.started, **SHORT)
FOUR = ("main0", "main_exploiter0", "league_exploiter0", "league_exploiter1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("leagues")


@pytest.fixture(scope="module")
def unkilled(folder: Path) -> League:
    league = started(folder, "unkilled")
    with league:
        assert league.run()
    return league


def logged(league: League) -> list[LeagueEvent]:
    """All events so far; a league keeps none in memory."""
    if not league.log._handle.closed:
        league.log.flush()
    return read_events(league.folder)


def content(state: LeagueState) -> dict[str, object]:
    """All of a state but how long it took, and files' hashes (a checkpoint's header holds library versions only)."""
    known = state.to_json()
    del known["seconds"]
    return known


def test_everybody_learns_and_is_measured(unkilled: League) -> None:
    state = unkilled.state
    assert tuple(player.id for player in state.learners) == FOUR
    assert all(player.env_steps > 1_000 for player in state.learners)
    assert state.player("main0").copies >= 3  # at the beginning, on the way, at the end
    fixed = [player.id for player in state.fixed]
    assert set(state.matrix) == {(a, b) for k, a in enumerate(fixed) for b in fixed[k + 1 :]}
    assert all(sum(counts) == 4 for counts in state.matrix.values())


def test_results_in_the_payoff_table_are_those_of_played_games(unkilled: League) -> None:
    events = standing(read_events(unkilled.folder))
    results = [event.body for event in events if event.type == "result"]
    assert len({result["match"] for result in results}) == len(results)
    assert all(len(result["outcome"]) == 4 and result["length"] >= 4 for result in results)


def test_the_exploiter_of_the_main_plays_only_mains(unkilled: League) -> None:
    pairs = {(e.body["home"], e.body["away"].partition("@")[0]) for e in logged(unkilled) if e.type == "assigned"}
    assert {away for home, away in pairs if home == "main_exploiter0"} == {"main0"}
    assert {away for home, away in pairs if home == "main0"} <= set(FOUR)


def test_a_snapshot_is_written_before_the_reset(unkilled: League) -> None:
    kinds = [(event.type, event.body.get("player")) for event in logged(unkilled)]
    resets = [place for place, (type, _) in enumerate(kinds) if type == "reset"]
    assert resets, "the small league must reset its main exploiter"
    for place in resets:
        earlier = [
            type for type, player in kinds[:place] if player == kinds[place][1] and type in ("snapshot", "reset")
        ]
        assert earlier[-1] == "snapshot"
    copies = [e.body for e in logged(unkilled) if e.type == "snapshot" and e.body["player"] == "main_exploiter0"]
    taught = torch.cat([part.flatten() for part in torch_weights(unkilled.folder / "teacher.ludory")])
    copied = torch.cat([part.flatten() for part in torch_weights(unkilled.folder / copies[0]["file"])])
    assert not torch.equal(taught, copied)


def torch_weights(file: Path) -> list[torch.Tensor]:
    from ludory.checkpoints.checkpoint import read_checkpoint

    tensors = read_checkpoint(file).tensors
    return [tensors[name] for name in sorted(tensors) if name.startswith("policy/")]


def test_the_log_adds_up_to_the_state(unkilled: League) -> None:
    events = standing(read_events(unkilled.folder))
    assert fold(events, unkilled.config.decay).to_json() == unkilled.state.to_json()
    assert LeagueState.from_json(json.loads(json.dumps(unkilled.state.to_json()))).to_json() == unkilled.state.to_json()


def test_a_snapshot_of_the_state_shortens_the_fold(
    unkilled: League, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = standing(read_events(unkilled.folder))
    half = next(event.seq for event in events[len(events) // 2 :] if event.type == "committed")
    early = fold([event for event in events if event.seq <= half], 0.99)
    write_state(tmp_path, early, EVERY - 2)
    assert not list(tmp_path.glob("state-*.json")), "it is written every thousand events"
    monkeypatch.setattr("ludory.algorithms.league.log.state.EVERY", 1)
    write_state(tmp_path, early, half)
    assert load_state(tmp_path, events, 0.99).to_json() == unkilled.state.to_json()
    # It is read: a state that says something else is gone on from.
    early.refused = 77
    (tmp_path / f"state-{half}.json").write_text(json.dumps(early.to_json()))
    assert load_state(tmp_path, events, 0.99).refused == 77


def test_two_equal_runs_log_the_same_but_for_the_time(folder: Path, unkilled: League) -> None:
    with started(folder, "again") as again:
        again.run(lambda running: running.stop() if running.state.turn == 5 else None)
    first, second = (
        [(event.type, {k: v for k, v in event.body.items() if k not in ("seconds", "sha256")}) for event in log]
        for log in (logged(unkilled), logged(again))
    )
    assert len(second) > 40
    assert first[: len(second)] == second


def _run_in_child(folder: Path) -> None:
    with resume_league(folder) as league:
        league.run()
    os._exit(0)


def test_killed_five_times_it_ends_as_if_nothing_had_happened(folder: Path, unkilled: League) -> None:
    target = folder / "killed"
    with start_league(small_config(folder), target):
        pass
    moments, whole = random.Random(1), (unkilled.folder / FILE).stat().st_size
    context = multiprocessing.get_context("fork")
    for _ in range(5):
        end = (target / FILE).stat().st_size + moments.randrange(whole // 12, whole // 7)
        child = context.Process(target=_run_in_child, args=(target,))
        child.start()
        while child.is_alive() and (target / FILE).stat().st_size < end:
            child.join(0.002)
        os.kill(child.pid or 0, signal.SIGKILL)
        child.join()
        assert child.exitcode == -signal.SIGKILL, "it must be killed while it runs"
    assert fold(standing(read_events(target)), 0.99).turn > 2, "what was learnt before is gone on from"
    last = context.Process(target=_run_in_child, args=(target,))
    last.start()
    last.join()
    assert last.exitcode == 0
    log = read_events(target)
    events = standing(log)
    assert sum(event.type == "resumed" for event in log) >= 5
    results = [event.body["match"] for event in events if event.type == "result"]
    assert len(set(results)) == len(results)
    for event in events:
        if event.type == "snapshot":
            assert (target / event.body["file"]).exists()
    mine, theirs = content(fold(events, 0.99)), content(unkilled.state)
    for state in (mine, theirs):
        for player in state["players"]:  # type: ignore[attr-defined]
            del player["sha256"]
    assert mine == theirs
    with resume_league(target) as resumed:
        assert all(torch.equal(part, weights(unkilled)[name]) for name, part in weights(resumed).items())


def test_a_result_counts_once_and_only_if_it_was_assigned(folder: Path) -> None:
    with started(folder, "refusing") as league:
        coordinator = league.coordinator
        assignment = coordinator.next_assignment("league_exploiter0")
        result = MatchResult(assignment.match, "wwdl", 40)
        coordinator.take_result(result)
        games = league.state.payoff.games.sum()
        coordinator.take_result(result)
        coordinator.take_result(MatchResult(999, "wwww", 40))
        assert league.state.payoff.games.sum() == games > 0
        assert league.state.refused == 2
        assert [event.type for event in logged(league)[-2:]] == ["refused", "refused"]


def test_the_second_process_is_refused(folder: Path) -> None:
    mine = pytest.raises(OutputError, match=rf"process {os.getpid()} on .* runs this league")
    with started(folder, "locked") as league, mine:
        resume_league(league.folder)


def test_a_new_league_does_not_append_to_an_old_one(folder: Path, unkilled: League) -> None:
    with pytest.raises(OutputError, match="holds a league; `ludory train league"):
        start_league(small_config(folder), unkilled.folder)


def test_a_torn_last_line_is_cut_off(folder: Path) -> None:
    with started(folder, "torn") as league:
        whole = (league.folder / FILE).read_bytes()
    (league.folder / FILE).write_bytes(whole + b'{"seq": 99, "type": "resu')
    with resume_league(league.folder) as resumed:
        assert (resumed.folder / FILE).read_bytes().startswith(whole)
        assert logged(resumed)[-1].type == "resumed"


def test_a_missing_snapshot_stops_the_resume_with_its_name(folder: Path) -> None:
    with started(folder, "missing") as league:
        pass
    (league.folder / "players" / "main0@0.ludory").unlink()
    with pytest.raises(CheckpointError, match=r"main0@0\.ludory: missing"):
        resume_league(league.folder)


def test_what_is_taken_away_while_it_runs_is_missed_at_the_next_commit(folder: Path) -> None:
    with started(folder, "robbed") as league:
        (league.folder / FILE).unlink()
        with pytest.raises(OutputError, match=r"events\.jsonl: gone while the league ran .*written again"):
            league.run(lambda running: running.stop())
    frozen = league.folder / "players" / "main0@0.ludory"
    with resume_league(league.folder) as resumed:
        assert resumed.state.turn == 1, "the slice is not lost"
        data = frozen.read_bytes()
        resumed.pool.opponent("main0@0")  # is in memory, so that playing against it does not read the file
        frozen.write_bytes(data[:-1])
        with pytest.raises(
            CheckpointError, match=rf"main0@0\.ludory: {len(data) - 1} bytes, the league wrote {len(data)}"
        ):
            resumed.run(lambda running: running.stop())
        frozen.write_bytes(data[::-1])
        resumed.stop()
        with pytest.raises(CheckpointError, match=r"main0@0\.ludory: SHA-256"):
            resumed.run()
        frozen.write_bytes(data)
    with EventLog(league.folder) as log:  # a league that somebody crafted
        (folder / "foreign.ludory").write_bytes(b"mine")
        log.append("checkpoint", player="main0", file="../foreign.ludory", sha256="", step=1)
        log.commit(1.0)
    with pytest.raises(CheckpointError, match=r"names the file '\.\./foreign\.ludory', which lies outside"):
        resume_league(league.folder)
    assert (folder / "foreign.ludory").read_bytes() == b"mine"


def test_a_league_killed_in_its_first_second_begins_again(
    folder: Path, unkilled: League, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = folder / "first-second"

    def killed(league: League) -> None:
        raise KeyboardInterrupt

    def said(league: League) -> list[tuple[str, object]]:
        volatile = ("seconds", "sha256")
        return [(e.type, {k: v for k, v in e.body.items() if k not in volatile}) for e in logged(league)]

    for again in range(2):  # by `start_league`, also over what the first left
        with monkeypatch.context() as patch:
            patch.setattr(League, "begin", killed)
            with pytest.raises(KeyboardInterrupt):
                start_league(small_config(folder), target)
        assert (target / FILE).read_bytes().endswith(b"\n"), again
    with resume_league(target, budget_steps=6_000) as league:
        begun = said(league)
    assert begun == said(unkilled)[: len(begun)]
    assert begun[-1][0] == "committed"
    empty = folder / "empty"
    empty.mkdir()
    (empty / FILE).touch()
    with pytest.raises(DataError, match="run the same `ludory train league"):
        resume_league(empty)
    monkeypatch.setattr(League, "begin", lambda league: None)
    with start_league(small_config(folder), empty) as league:
        assert league.state.players


def test_a_changed_teacher_stops_the_resume(folder: Path) -> None:
    import ludory

    with started(folder, "teacher") as league:
        pass
    other = ludory.make_algorithm("vtrace", env=SHORT["env"], policy="mlp(hidden=(16,))", num_envs=2, seed=4)
    other.save_policy(league.folder / "teacher.ludory")
    with pytest.raises((OptionError, CheckpointError), match="SHA-256"):
        resume_league(league.folder)


def test_the_teacher_is_the_supervised_policy_for_every_player_for_ever(unkilled: League) -> None:
    hashes = {learner.algorithm._teacher_sha256 for learner in unkilled.learners.values()}
    assert hashes == {logged(unkilled)[0].body["teacher_sha256"]}


def test_a_cooperative_game_is_refused(folder: Path) -> None:
    with pytest.raises(OptionError, match="plays zero-sum games"):
        start_league(small_config(folder, env="HanabiTiny2P-v0"), folder / "hanabi")


def test_stopping_keeps_everything(folder: Path) -> None:
    with started(folder, "stopped") as league:
        assert not league.run(lambda running: running.stop())
        assert league.state.turn == 1
        assert not league.state.closed
        left = weights(league)
    with resume_league(folder / "stopped") as resumed:
        assert content(resumed.state) == content(league.state)
        assert all(torch.equal(part, left[name]) for name, part in weights(resumed).items())


def test_the_draw_of_a_reset_is_the_one_in_the_log(unkilled: League) -> None:
    events = [event for event in logged(unkilled) if event.type in ("snapshot", "reset")]
    for snapshot, following in zip(events, [*events[1:], None], strict=True):
        if snapshot.type == "snapshot":
            reset = following is not None and following.type == "reset"
            assert snapshot.body["reset"] == reset


def test_ppo_learns_in_a_league_too(folder: Path) -> None:
    options = {"num_envs": 16, "n_steps": 8, "batch_size": 64}
    with started(folder, "ppo", learner="ppo", learner_options=options, budget_steps=2_000) as league:
        before = weights(league)
        assert league.run()
        assert not all(torch.equal(part, before[name]) for name, part in weights(league).items())
