"""A sweep: what its texts mean, what a folder keeps, and that it goes on as if it had not been stopped."""

from __future__ import annotations

import json

import pytest

from ludory.algorithms.ppo.config import PPOConfig
from ludory.algorithms.tuned.settings import read_tuned
from ludory.benchmarks.sweep.space import dimension, dimensions, typed, value_of
from ludory.cli.train.sweep import run
from ludory.errors import DataError, OptionError
from ludory.plugins import algorithms


class Asked:
    """Stands for a trial of Optuna: tells what it is asked for."""

    def suggest_float(self, name, low, high, log):
        self.asked = low, high, "log" if log else "even"
        return 0.123456

    def suggest_int(self, name, low, high, log):
        self.asked = low, high, "whole"
        return low

    def suggest_categorical(self, name, choices):
        self.asked = tuple(choices)
        return choices[-1]


@pytest.mark.parametrize(
    ("text", "asked", "value"),
    [
        ("1e-4..3e-3", (1e-4, 3e-3, "log"), 0.1235),
        ("0.9..1.0", (0.9, 1.0, "even"), 0.1235),
        ("1..8", (1, 8, "whole"), 1),
        ("64x64,256x256", ("64x64", "256x256"), (256, 256)),
        ("true, false", ("true", "false"), False),
        ("1,2,4", ("1", "2", "4"), 4),
    ],
)
def test_a_text_is_a_range_or_values(text, asked, value):
    trial = Asked()
    assert dimension("name", text).suggest(trial) == value
    assert trial.asked == asked


@pytest.mark.parametrize(
    ("space", "said"),
    [
        ({}, "states no values to try; name some, e.g. --tune"),
        ({"gama": "0.9..1"}, "has no option 'gama'; did you mean gamma?"),
        ({"gamma": "0.9..1.5"}, "gamma=1.5: must lie in"),
        ({"gamma": "1..0.9"}, "the smaller one first"),
        ({"n_epochs": "4"}, "must be a range, such as 1e-4..3e-3, or several values"),
    ],
)
def test_a_wrong_space_is_refused_before_any_trial(space, said):
    with pytest.raises(OptionError, match=said.replace(".", r"\.")):
        dimensions(space, PPOConfig())


@pytest.mark.parametrize("name", ["ppo", "vtrace"])
def test_an_algorithm_allows_what_it_states(name):
    kind = algorithms.load(name)
    assert len(dimensions(kind.search_space, kind.config_class())) == len(kind.search_space)


def test_settings_are_typed_as_options():
    settings = {"learning_rate": 0.00123456, "hidden": value_of("64x64"), "symmetry_augmentation": True}
    assert typed(settings) == ["--learning-rate", "0.001235", "--hidden", "64", "64", "--symmetry-augmentation"]


COMMAND = [
    *("ppo", "--env", "KuhnPoker-v0", "--timesteps", "512", "--reports", "2", "--games", "20", "--hidden", "8"),
    *("--num-envs", "8", "--n-steps", "8", "--tune", "learning_rate=1e-4..1e-2", "--tune", "n_epochs=1,2"),
]


@pytest.mark.slow
def test_a_stopped_sweep_goes_on_with_the_same_trials(tmp_path, capsys):
    pytest.importorskip("optuna", reason="needs the extra sweep")

    def trials(folder):
        said = [line for line in capsys.readouterr().out.splitlines() if line.startswith("trial ")]
        return [line.partition(" after ")[0] + line.partition("(")[2] for line in said]

    run([*COMMAND, "--trials", "4", "--out", str(tmp_path / "whole")])
    whole = trials(tmp_path / "whole")
    assert len(whole) == 4
    for count in ("2", "4"):
        run([*COMMAND, "--trials", count, "--out", str(tmp_path / "parts")])
    assert trials(tmp_path / "parts") == whole

    run([*COMMAND, "--trials", "4", "--out", str(tmp_path / "parts"), "--write", str(tmp_path / "ppo.json")])
    said = capsys.readouterr().out
    assert "trial 0 complete" not in said.split("best:")[0], "nothing is left to do"
    entry = read_tuned((tmp_path / "ppo.json").read_text(), "ppo.json")["KuhnPoker-v0"]
    assert entry.settings["hidden"] == (8,)
    assert entry.reached is None
    assert all(word in said for word in typed(entry.settings)), "the command has the same settings"
    page = (tmp_path / "parts" / "report.html").read_text()
    assert page.count("<svg") >= 2
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_a_kill_between_two_proposals_changes_no_trial(tmp_path, monkeypatch):
    pytest.importorskip("optuna", reason="needs the extra sweep")
    from ludory.benchmarks.sweep import study
    from ludory.benchmarks.sweep.space import Dimension

    space = {"learning_rate": "1e-4..1e-2", "gamma": "0.9..1.0"}
    setting = study.SweepSetting("ppo", "KuhnPoker-v0", space=space, timesteps=512, reports=1)
    monkeypatch.setattr(study, "_scores", lambda sweep, settings: iter([(512, settings["learning_rate"], 0.0)]))
    whole = [one.settings for one in study.Sweep(tmp_path / "whole", setting).run(4)]
    assert len({one["gamma"] for one in whole}) == 4
    plain, asked, parts = Dimension.suggest, [], study.Sweep(tmp_path / "parts", setting)

    def killed(dimension, trial):
        asked.append(dimension.name)
        if len(asked) in (2, 3, 8, 10):
            raise KeyboardInterrupt
        return plain(dimension, trial)

    monkeypatch.setattr(Dimension, "suggest", killed)
    for _ in range(4):
        with pytest.raises(KeyboardInterrupt):
            list(parts.run(4))
    list(parts.run(4))
    assert [one.settings for one in parts.results()] == whole


def test_the_journal_of_a_sweep_can_be_read_after_a_kill_within_a_line(tmp_path):
    pytest.importorskip("optuna", reason="needs the extra sweep")
    from ludory.benchmarks.sweep.study import JOURNAL, open_study

    study = open_study(tmp_path)
    for score in (1.0, 2.0, 3.0):
        trial = study.ask()
        trial.suggest_float("x", 0, 1)
        study.tell(trial, score)
    journal = tmp_path / JOURNAL
    journal.write_bytes(journal.read_bytes()[:-20])
    study = open_study(tmp_path)
    assert [trial.value for trial in study.trials if trial.state.is_finished()] == [1.0, 2.0]
    study.tell(study.ask(), 4.0)
    assert [trial.value for trial in open_study(tmp_path).trials if trial.state.is_finished()] == [1.0, 2.0, 4.0]
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines[:3], *lines[4:]]))
    with pytest.raises(DataError, match=f"{JOURNAL}, line 4: damaged"):
        open_study(tmp_path)


def test_a_folder_keeps_one_setting(tmp_path):
    pytest.importorskip("optuna", reason="needs the extra sweep")
    (tmp_path / "sweep.json").write_text(json.dumps({"algorithm": "ppo", "env": "LeducPoker-v0"}))
    with pytest.raises(DataError, match="env='LeducPoker-v0', asked for is 'KuhnPoker-v0'; name another folder"):
        run([*COMMAND, "--out", str(tmp_path)])


def test_a_league_cannot_be_swept():
    with pytest.raises(OptionError, match="has no policy of its own"):
        run(["league", "--env", "KuhnPoker-v0"])
