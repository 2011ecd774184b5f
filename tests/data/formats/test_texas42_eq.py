"""Records of E[Q]: what is in a file, that it repeats, and what shows it."""

from __future__ import annotations

import json
import math
import sys
from xml.etree import ElementTree

import numpy as np
import pytest

from ludory.agents.texas42.expected_value.decision_value import Adaptive, WorldSampling
from ludory.agents.texas42.expected_value.exploration import Exploration
from ludory.agents.texas42.expected_value.posterior import Posterior
from ludory.agents.texas42.solver.solver import Solver
from ludory.algorithms.texas42.data.eq import EqSettings, check_eq, make_eq, record_game
from ludory.algorithms.texas42.data.eq_analysis import rows_of, sample_again
from ludory.algorithms.texas42.data.shards import shard_names
from ludory.cli import main
from ludory.cli.texas42 import eq as texas42_eq
from ludory.data.formats.texas42.eq_records import COLUMNS, EqGame, EqName, read_eq, write_eq
from ludory.data.formats.texas42.eq_torch import ADDED, read_pt, write_pt
from ludory.data.formats.texas42.eq_view import decisions, outcome
from ludory.data.formats.texas42.names import decl_of
from ludory.envs.texas42.start import seed_deal
from ludory.envs.texas42.tiles import tiles_of
from ludory.errors import DataError

SETTINGS = EqSettings(WorldSampling(4, 0, posterior=Posterior(window=4)), Exploration(epsilon=0.2))


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    target = tmp_path_factory.mktemp("eq") / EqName(947).path
    make_eq(target, EqName(947), SETTINGS, Solver())
    return target


def test_a_record_holds_28_decisions_of_a_legal_hand(file):
    game = read_eq(file)
    columns = game.columns
    assert file.parent.name == "val"
    assert sorted(game.tiles) == list(range(28)), "slots are places in the dealt hand, for the action as for the values"
    assert game.header["deal"] == [tile for hand in seed_deal(947) for tile in hand]
    assert game.header["decl_id"] == 947 % 10
    assert game.header["version"] == "2.1"
    assert (columns["decision_idx"] == np.arange(28)).all()
    assert not columns["train_mask"].any()
    legal = columns["legal_mask"]
    assert (np.isneginf(columns["e_q_mean"]) == ~legal).all()
    assert (columns["e_q_var"][~legal] == 0).all()
    points = np.arange(-42, 43)
    assert (columns["e_q_pdf"] @ points)[legal] == pytest.approx(columns["e_q_mean"][legal], abs=1e-3)
    deviation = [np.sqrt(v[m]) for v, m in zip(columns["e_q_var"], legal, strict=True)]
    assert columns["u_mean"] == pytest.approx([d.mean() for d in deviation], abs=1e-4)
    assert columns["u_max"] == pytest.approx([d.max() for d in deviation], abs=1e-4)


def test_diagnostics_are_of_each_decision(file):
    columns = read_eq(file).columns
    assert columns["ess"][0] == columns["n_samples"][0], "nothing was played before"
    assert len(set(columns["ess"].tolist())) > 5, "no mean over a game"
    assert (columns["max_w"] * columns["n_samples"] >= 0.999).all()
    gaps = columns["q_gap"]
    assert (gaps[columns["exploration_mode"] == 0] == 0).all()
    best = np.where(columns["legal_mask"], columns["e_q_mean"], -np.inf).max(axis=1)
    taken = np.take_along_axis(columns["e_q_mean"], columns["action_taken"][:, None], 1)[:, 0]
    assert gaps == pytest.approx(best - taken, abs=1e-4)


def test_transcripts_hold_the_hand_and_the_plays_in_order(file):
    game = read_eq(file)
    for view, state in decisions(game):
        k = view.number
        tokens, length = game.columns["transcript_tokens"][k], int(game.columns["transcript_lengths"][k])
        held = tiles_of(int(state.held[0, view.seat]))
        assert length == 1 + len(held) + k
        assert tokens[0, 7] == 0
        assert tokens[1 : 1 + len(held), 7].tolist() == [1] * len(held)
        assert tokens[1 + len(held) : length, 7].tolist() == [2] * k
        assert (tokens[length:] == 0).all()
        played = [(int(high), int(low)) for high, low in tokens[1 + len(held) : length, :2]]
        assert played == [(_high(tile), tile - _high(tile) * (_high(tile) + 1) // 2) for tile in game.tiles[:k]]
        slots = game.columns["hand_slots"][k]
        assert [game.hand(k)[slot] for slot in slots if slot >= 0] == held


def _high(tile: int) -> int:
    return next(high for high in range(7) if tile < (high + 1) * (high + 2) // 2)


def test_files_repeat_to_the_byte_and_others_do_not_pass(file, tmp_path):
    again = tmp_path / "again.safetensors"
    make_eq(again, EqName(947), SETTINGS, Solver())
    assert again.read_bytes() == file.read_bytes()
    check_eq(file, EqName(947), SETTINGS)
    with pytest.raises(DataError, match="sampler"):
        check_eq(file, EqName(947), EqSettings(WorldSampling(5, 0)))
    with pytest.raises(DataError, match="seed"):
        check_eq(file, EqName(948), SETTINGS)


def test_damage_is_found(file, tmp_path):
    whole, cut = file.read_bytes(), tmp_path / "cut.safetensors"
    cut.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match="cannot be read"):
        read_eq(cut)
    game = read_eq(file)
    columns = {name: column.copy() for name, column in game.columns.items()}
    columns["action_taken"][3] = int((~columns["legal_mask"][3]).argmax()) if not columns["legal_mask"][3].all() else 7
    write_eq(cut, EqGame(game.header, columns))
    with pytest.raises(DataError, match=r"decision 3, action_taken"):
        read_eq(cut)
    del columns["u_max"]
    with pytest.raises(KeyError):
        write_eq(cut, EqGame(game.header, columns))


def test_all_columns_are_documented():
    from ludory.data.formats.texas42 import eq_records

    assert all(f"`{name}`" in (eq_records.__doc__ or "") for name in COLUMNS)


def test_other_records_do_not_change_a_record():
    small = EqSettings(WorldSampling(2, 0))
    solver = Solver()
    record_game(3, small, solver)
    assert (
        record_game(7, small, solver).columns["e_q_mean"] == record_game(7, small, Solver()).columns["e_q_mean"]
    ).all()


def test_dictionaries_of_torch_and_back(file, tmp_path, capsys):
    import torch

    there, back = tmp_path / "seed.pt", tmp_path / "back.safetensors"
    assert main(["texas42", "eq-convert", str(file), str(there)]) == 0
    content = torch.load(there, weights_only=True)
    assert content["e_q_mean"].shape == (28, 7)
    assert main(["texas42", "eq-convert", str(there), str(back)]) == 0
    assert back.read_bytes() == file.read_bytes()
    bad = tmp_path / "bad.pt"
    torch.save({"metadata": print}, bad)
    assert main(["texas42", "eq-convert", str(bad), str(tmp_path / "x.safetensors")]) == 2
    assert "cannot be read" in capsys.readouterr().err


@pytest.mark.slow
def test_a_dictionary_of_the_first_pipeline_is_completed_by_playing_it_again(file, tmp_path, capsys):
    import torch

    game = read_eq(file)
    own = {name: torch.from_numpy(column.copy()) for name, column in game.columns.items() if name not in ADDED}
    own["n_samples"], own["game_idx"] = own["n_samples"].int(), own["game_idx"].int()
    old = tmp_path / "seed_00000947.pt"
    for metadata in ({"version": "2.1", "seed": 947}, None):
        torch.save(own | ({"metadata": metadata} if metadata else {}), old)
        found = read_pt(old)
        assert found.header["deal"] == game.header["deal"]
        for name, column in game.columns.items():
            if name in ("entropy", "window_nll"):
                assert np.isnan(found.columns[name]).all()
            else:
                np.testing.assert_allclose(found.columns[name], column, atol=1e-6, err_msg=name)
    new = tmp_path / "new.safetensors"
    assert main(["texas42", "eq-convert", str(old), str(new)]) == 0
    assert main(["texas42", "view", str(new), "--decision", "3"]) == 0
    assert main(["texas42", "view", str(new), "--html", str(tmp_path / "page.html")]) == 0
    assert "made 30" in (page := (tmp_path / "page.html").read_text()) or "was set on 30" in page
    capsys.readouterr()
    for change, message in (
        ({"game_idx": torch.full((28,), 948)}, "may play in the deal of seed 948"),
        ({"e_q_var": torch.zeros(56, 7)}, "one hand a file"),
        ({"metadata": "null"}, "cannot be read"),
        ({"metadata": {"seed": "x"}}, "seed 'x' in metadata"),
        ({"metadata": {"seed": 947, "decl_id": 12}}, "decl_id 12 in metadata, must lie in 0..9"),
    ):
        torch.save(own | change, old)
        assert main(["texas42", "eq-convert", str(old), str(tmp_path / "x.safetensors")]) == 2
        assert message in capsys.readouterr().err
    there = tmp_path / "own.pt"
    write_pt(there, game)
    content = torch.load(there, weights_only=True)
    del content["entropy"]
    torch.save(content, there)
    with pytest.raises(DataError, match="entropy is missing"):
        read_pt(there)
    del own["ess"]
    torch.save(own, old)
    assert main(["texas42", "eq-convert", str(old), str(tmp_path / "x.safetensors")]) == 2
    assert "ess is missing" in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"\x80\x02.", b"\x80\x020.", b"PK", b"\x80\x02}q\x00."])
def test_files_of_the_first_pipeline_that_are_none_are_refused(tmp_path, content):
    (tmp_path / "hand.pt").write_bytes(content)
    with pytest.raises(DataError, match=r"hand\.pt"):
        read_pt(tmp_path / "hand.pt")


def test_a_byte_that_fell_over_is_noticed(file, tmp_path, capsys):
    content = bytearray(file.read_bytes())
    content[40_000] ^= 1
    bad = tmp_path / "train" / "seed_00000947.safetensors"
    bad.parent.mkdir()
    bad.write_bytes(content)
    with pytest.raises(DataError, match="damaged: its tensors are not those that were written"):
        read_eq(bad)
    assert main(["texas42", "check", str(tmp_path)]) == 1
    assert "0 of 1 files are right" in capsys.readouterr().out
    assert main(["texas42", "check", str(file)]) == 0
    assert "1 of 1 files are right, 28 rows" in capsys.readouterr().out


def test_of_one_world_the_error_is_unknown(tmp_path, capsys):
    make_eq(target := tmp_path / "one.safetensors", EqName(3), EqSettings(WorldSampling(1, 1)), Solver())
    view = next(iter(decisions(read_eq(target))))[0]
    assert all(math.isinf(slot.sem) for slot in view.slots)
    assert main(["texas42", "view", str(target), "--decision", "0"]) == 0
    shown = capsys.readouterr().out
    assert "inf" in shown
    assert "the hand ended" in shown
    assert main(["texas42", "view", str(target), "--gif", "x.png"]) == 2
    assert "must end in .gif" in capsys.readouterr().err


# --- The command and the viewer -------------------------------------------------------------------------------------------


def test_the_job_fills_gaps_and_goes_on(tmp_path, capsys):
    job = ["texas42", "eq", "--out", str(tmp_path), "--seeds", "0-2", "--n-samples", "2", "--enumerate-below", "0"]
    assert main([*job, "--limit", "1"]) == 0
    assert main([*job, "--dry-run"]) == 0
    assert "2 missing" in capsys.readouterr().out
    assert main(job) == 0
    assert "2 files written (56 decisions), 1 were there" in capsys.readouterr().out
    assert not list(tmp_path.glob("*/.*"))
    assert main([*job[:-4], "--n-samples", "3", "--enumerate-below", "0"]) == 2
    assert "name another folder" in capsys.readouterr().err


def test_the_preset_has_the_first_pipelines_defaults_and_what_is_said_besides_wins(tmp_path, capsys):
    job = ["texas42", "eq", "--out", str(tmp_path), "--seeds", "7", "--preset", "seed", "--posterior"]
    few = ["--n-samples", "2", "--enumerate-below", "0", "--posterior-window", "2"]
    assert main([*job, *few, "--exploration", "boltzmann"]) == 0
    header = read_eq(tmp_path / EqName(7).path).header
    assert (header["posterior"]["window"], header["posterior"]["tau"], header["posterior"]["slip"]) == (2, 0.1, 0.1)
    assert (header["sampler"]["worlds"], header["exploration"]["temperature"]) == (2, 2.0)
    chosen = texas42_eq._settings(texas42_eq.parse_eq(["--preset", "seed", "--adaptive", "--max-samples", "9000"]))
    assert chosen.sampling.worlds == 50
    assert chosen.sampling.adaptive == Adaptive(1000, 5000, 9000, 0.1)
    assert texas42_eq._settings(texas42_eq.parse_eq(["--adaptive"])).sampling.adaptive == Adaptive()
    capsys.readouterr()
    assert main([*job[:-2], "old"]) == 2
    assert "--preset old: must be seed" in capsys.readouterr().err


def test_declarations_may_be_asked_for_or_drawn_by_the_seed(tmp_path, capsys):
    drawn = [decl_of(seed, "random") for seed in range(900)]
    assert drawn == [decl_of(seed, "random") for seed in range(900)]
    assert set(drawn) == {0, 1, 2, 3, 4, 5, 6, 7, 9}
    assert max(drawn.count(decl) for decl in set(drawn)) < 140
    job = ["texas42", "eq", "--out", str(tmp_path), "--n-samples", "1", "--enumerate-below", "0", "--decl"]
    assert main([*job, "random", "--seeds", "6"]) == 0
    header = read_eq(tmp_path / EqName(6).path).header
    assert (header["decl_id"], header["declared"]) == (decl_of(6, "random"), "random")
    assert decl_of(6, "random") != 6
    capsys.readouterr()
    assert main([*job, "fives", "--seeds", "6"]) == 2
    assert "declared is random, asked for 5" in capsys.readouterr().err
    assert main([*job, "random", "--callable", "--seeds", "6"]) == 2
    assert "leave one of them out" in capsys.readouterr().err
    assert main([*job, "rand", "--seeds", "6"]) == 2
    assert "or random" in capsys.readouterr().err
    names = [name.decl for name in shard_names(range(20), decl="random", opp_seeds=2)]
    assert names == [decl for seed in range(20) for decl in [decl_of(seed, "random")] * 2]
    out = ["--out", str(tmp_path / "shards"), "--seeds", "6", "--dry-run"]
    assert main(["texas42", "generate", "--decl", "random", *out]) == 0
    assert f"decl_{decl_of(6, 'random')}" in capsys.readouterr().out


def test_figures_of_records_are_those_that_follow_from_their_tensors(file, tmp_path, capsys):
    game = read_eq(file)
    columns, rows = game.columns, rows_of(game)
    final = [int(points) for points in outcome(game).split(";")[0].split("-")]
    for k in range(28):
        seat, means = int(columns["seat"][k]), np.sort(columns["e_q_mean"][k][columns["legal_mask"][k]])[::-1]
        assert rows.choice[k] == (len(means) > 1)
        if rows.choice[k]:
            assert rows.spread[k] == pytest.approx(means[0] - means[-1])
            assert rows.lead[k] == pytest.approx(means[0] - means[1])
        banked = columns["banked"][k].astype(int)
        won = [final[team] - banked[team] for team in (seat % 2, 1 - seat % 2)]
        said = columns["e_q_mean"][k, columns["action_taken"][k]]
        assert rows.error[k] == pytest.approx(said - (won[0] - won[1]), abs=1e-4)
        if columns["n_samples"][k] < columns["worlds_total"][k]:
            biggest = np.sqrt(columns["e_q_var"][k].max() / (columns["ess"][k] - 1)) if columns["ess"][k] > 1.01 else 0
            assert rows.sem[k] == pytest.approx(biggest, rel=1e-3) or not biggest
        else:
            assert rows.sem[k] == 0
    there = tmp_path / "records"
    there.mkdir()
    (there / file.name).write_bytes(file.read_bytes())
    write_pt(there / "seed.pt", game)
    look = ["texas42", "eq-analyse", str(there)]
    assert main([*look, "--samples", "1", "3", "--json", "--svg", str(tmp_path / "x.svg")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["hands"], found["decisions"], len(found["by_trick"])) == (2, 56, 7)
    assert found["overall"]["spread"] == pytest.approx(np.nanmean(rows.spread))
    assert found["overall"]["choices"] == 2 * int(rows.choice.sum())
    assert found["by_trick"]["7"]["spread"] is None
    assert 0 < found["overall"]["changed_1"] <= 1
    assert found["overall"]["lost_1"] > 0
    assert sum(mode["share"] for mode in found["exploration"].values()) == pytest.approx(1)
    assert "spread" in (tmp_path / "x.svg").read_text()
    assert main(look) == 0
    assert "2 hands, 56 decisions" in capsys.readouterr().out
    for options, message in (
        ([str(tmp_path / "none")], "no such file or folder"),
        ([str(tmp_path / "records"), "--samples", "0"], "must be at least 1"),
        ([str(tmp_path / "records"), "--svg", "x.png"], "must end in .svg"),
    ):
        assert main(["texas42", "eq-analyse", *options]) == 2
        assert message in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert main(["texas42", "eq-analyse", str(tmp_path / "empty")]) == 2
    assert "no records (.safetensors or .pt)" in capsys.readouterr().err


def test_decisions_of_which_all_worlds_are_known_are_not_sampled_again(file):
    game = read_eq(file)
    few = game.columns["worlds_total"] <= 6
    again = sample_again(game, 6, Solver())
    assert few.any()
    assert np.isnan(again.changed[few]).all()
    assert not np.isnan(again.changed[~few & (game.columns["legal_mask"].sum(axis=1) > 1)]).any()


def test_a_record_is_shown(file, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False, raising=False)
    assert main(["texas42", "view", str(file), "--seat", "1"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("-- decision") == 7
    assert "##" in shown, "hands that the mover does not see stay hidden"
    page, picture = tmp_path / "hand.html", tmp_path / "one.svg"
    assert main(["texas42", "view", str(file), "--html", str(page), "--picture", str(picture), "--decision", "9"]) == 0
    text = page.read_text()
    assert "http-equiv" in text
    assert "src=" not in text
    assert "Decision 27 of 0..27" in text
    root = ElementTree.fromstring(picture.read_text())
    words = [node.text for node in root.iter("{http://www.w3.org/2000/svg}text")]
    assert any(word and word.startswith("effective worlds") for word in words)
    assert any(word and word.startswith("q-gap") for word in words)
    assert main(["texas42", "view", str(file), "--decision", "28"]) == 2


@pytest.mark.slow
def test_records_are_watched_as_all_recordings_are(file, tmp_path, capsys):
    assert main(["watch", str(file.parent), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    assert row["name"] == "seed 947"
    assert outcome(read_eq(file)).startswith(f"{row['returns'][0]:g}-{row['returns'][1]:g};")
    assert main(["watch", str(file), "--row", "0"]) == 0
    watched = capsys.readouterr().out
    assert main(["texas42", "view", str(file)]) == 0
    assert [line for line in capsys.readouterr().out.splitlines()[:-1] if line] == [
        line for line in watched.splitlines() if line
    ]
    pages = tmp_path / "watch.html", tmp_path / "view.html"
    assert main(["watch", str(file), "--row", "0", "--html", str(pages[0])]) == 0
    assert main(["texas42", "view", str(file), "--html", str(pages[1])]) == 0
    assert pages[0].read_text() == pages[1].read_text()


def test_keys_move_through_a_record(file, capsys, monkeypatch):
    keys = iter(["n", "g 20", "p", "j 0.0", "w", "s 1", "a", "x", "q"])
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda prompt="": next(keys))
    assert main(["texas42", "view", str(file)]) == 0
    shown = capsys.readouterr().out
    for part in ("decision 1 of", "decision 20 of", "decision 19 of", "worlds:", "world 1, exact:", "'x' is no key"):
        assert part in shown


@pytest.mark.slow
def test_an_animation_has_a_picture_for_each_decision(file, tmp_path):
    image = pytest.importorskip("PIL.Image")
    target = tmp_path / "hand.gif"
    assert main(["texas42", "view", str(file), "--gif", str(target), "--seat", "0"]) == 0
    with image.open(target) as opened:
        assert opened.n_frames == 7
        assert opened.size == (1100, 640)
