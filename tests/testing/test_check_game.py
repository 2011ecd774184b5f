"""`check_game` passes honest games and catches planted faults, each by the property that it breaks."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

import re
from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pytest
from games import nim as games
from games.high_card import CARDS, FOLD, HIGH_CARD, RAISE, SIDES, legal, observe, redeal, reset, step

import ludory
from ludory.envs.chance import COUNTER, EPISODE, KEY, STREAM, draw
from ludory.envs.engine.external import ExternalEngine
from ludory.envs.engine.kernel_engine import KernelEngine
from ludory.envs.facts import Segment
from ludory.envs.hanabi import make_game
from ludory.envs.kernels import kernel
from ludory.envs.parts import Field
from ludory.envs.views.gymnasium_env import GameEnv
from ludory.envs.views.gymnasium_vector import GameVectorEnv
from ludory.envs.views.pettingzoo_parallel import GameParallelEnv
from ludory.errors import ConformanceError, OptionError
from ludory.testing import check_game
from ludory.testing.conformance import PROPERTIES
from ludory.testing.kernels import simulator
from ludory.testing.kernels.simulator import cuda_simulator_agrees
from ludory.testing.properties.batches import states_stay_within_their_bounds
from ludory.testing.recording import record
from ludory.testing.trial import Trial

HONEST = {
    "sequential, open, truncated": games.nim(players=3, limit=7),
    "simultaneous, two heads": games.matching(),
    "simultaneous, shared reward": games.matching(shared=True),
    "Hanabi Tiny with beliefs": make_game(colors=2, ranks=2, hand_size=2, observation="v0_belief"),
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.plain if name == "simultaneous, two heads" else pytest.mark.slow)
        for name in HONEST
    ],
)
def test_honest_games_pass(name):
    check_game(HONEST[name], games=16, cuda="skip", compiled=name != "simultaneous, shared reward")


@pytest.mark.slow
def test_another_seed_and_a_single_game_pass():
    check_game(HIGH_CARD, games=1, seed=99, cuda="skip", compiled=False)


@pytest.mark.slow
def test_every_property_is_reported():
    reported = []
    check_game(HIGH_CARD, games=6, report=lambda *line: reported.append(line), cuda="skip")
    assert [name for name, _, _ in reported] == list(PROPERTIES)
    assert all(ok for _, ok, _ in reported)
    remarks = {name: message for name, _, message in reported if message}
    assert remarks == {"pictures": "the game has no svg", "CUDA simulator": "not asked for"}


def test_all_properties_are_tried_when_they_are_reported():
    reported = {}
    faulty = with_facts(longest_game=3, min_return=-1)
    with pytest.raises(ConformanceError, match="High card: longest game: step 3"):
        check_game(faulty, report=lambda name, ok, message: reported.update({name: ok}), cuda="skip")
    assert [name for name, ok in reported.items() if not ok] == ["longest game", "rewards"]


def test_no_games_are_refused():
    with pytest.raises(OptionError, match="games=0"):
        check_game(HIGH_CARD, games=0)


def test_the_message_names_game_property_step_and_difference():
    with pytest.raises(AssertionError) as caught:
        check_game(with_kernels(observe=shows_the_other_card), compiled=False)
    assert re.fullmatch(
        r"High card: hidden information: step 0, .*redeal\(0\).*: game \d+: observation of seat 0 at own_card\[\d\] is 0, expected 1",
        str(caught.value),
    )


# --- What the tests below are made of -------------------------------------------------------------------------------------


def with_kernels(**kernels):
    return replace(HIGH_CARD, rules=replace(HIGH_CARD.rules, kernels=HIGH_CARD.rules.kernels._replace(**kernels)))


def with_facts(**facts):
    return replace(HIGH_CARD, facts=replace(HIGH_CARD.facts, **facts))


def assert_caught(property_name, game=HIGH_CARD, maker=KernelEngine, says=""):
    with pytest.raises(ConformanceError, match=f"^High card: {property_name}: .*{says}"):
        check_game(game, games=16, maker=maker, cuda="skip", compiled=False)


# --- Masks ----------------------------------------------------------------------------------------------------------------


@kernel
def raising_is_always_legal(state, i, seat, mask):
    legal(state, i, seat, mask)
    mask[RAISE] = True


def test_an_illegal_action_in_the_mask_shows_in_the_returns():
    assert_caught("rewards", with_kernels(legal=raising_is_always_legal), says="must lie in -3..3")


@kernel
def only_raising_is_legal(state, i, seat, mask):
    legal(state, i, seat, mask)
    mask[0] = False
    mask[FOLD] = False


def test_a_running_game_without_a_legal_action():
    assert_caught("masks", with_kernels(legal=only_raising_is_legal), says="no action of head 'action' is legal")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("info", "says"),
    [
        (lambda state, i: {"end": 1} if state.terminated[i] else {}, r"info\['end'\] is int, was missing after reset"),
        (lambda state, i: {"raised": [0] * int(state.raises[i])}, r"is int64\(1,\), was .*\(0,\) after reset"),
        (lambda state, i: {"raises": int(state.raises[i]) or None}, r"is int, was missing"),
    ],
)
def test_a_public_fact_that_comes_and_goes_or_changes_its_form(info, says):
    assert_caught("Gymnasium env", replace(HIGH_CARD, look=replace(HIGH_CARD.look, info=info)), says=says)


class HidesALegalAction(KernelEngine):
    def legal(self):
        mask = super().legal()
        mask[:, RAISE] &= self.to_move < 0
        return mask


def test_a_legal_action_is_missing_in_the_mask():
    assert_caught(
        "illegal actions", maker=HidesALegalAction, says=r"action 1 \(raise\) is not legal, but it was played"
    )


class ShowsAnIllegalAction(KernelEngine):
    def legal(self):
        mask = super().legal()
        mask[:, FOLD] = True
        return mask


def test_an_action_in_the_mask_can_not_be_played():
    assert_caught("masks", maker=ShowsAnIllegalAction, says="IllegalActionError")


class ForgetsRewardsBeforeItChecks(KernelEngine):
    def step(self, actions, rows=None):
        self._records["rewards"] = 0
        super().step(actions, rows)


def test_a_refused_action_changes_something():
    assert_caught("illegal actions", maker=ForgetsRewardsBeforeItChecks, says="after refused actions")


@kernel
def folding_is_legal_with_the_lower_card(state, i, seat, mask):
    legal(state, i, seat, mask)
    mask[FOLD] = int(state.cards[i, seat]) < int(state.cards[i, 1 - seat])


def test_a_mask_that_depends_on_a_hidden_card():
    game = with_kernels(legal=folding_is_legal_with_the_lower_card)
    assert_caught("hidden information", game, says="mask at action 2")


# --- Hidden information ---------------------------------------------------------------------------------------------------


@kernel
def shows_the_other_card(state, i, seat, out):
    observe(state, i, seat, out)
    out[int(state.cards[i, 1 - seat])] = 1


def test_a_hidden_card_may_be_shown_on_purpose():
    privileged = replace(HIGH_CARD.facts, privileged_observation=True)
    honest = replace(with_kernels(observe=shows_the_other_card), facts=privileged)
    check_game(honest, games=16, cuda="skip", compiled=False)


def test_a_hidden_card_in_the_observation():
    assert_caught(
        "hidden information", with_kernels(observe=shows_the_other_card), says="observation of seat 0 at own_card"
    )


def test_a_hidden_card_in_the_info():
    game = replace(HIGH_CARD, look=replace(HIGH_CARD.look, info=lambda state, i: {"cards": state.cards[i].tolist()}))
    assert_caught("hidden information", game, says="info is {'cards'")


def test_a_hidden_card_in_the_picture():
    game = replace(HIGH_CARD, look=replace(HIGH_CARD.look, text=lambda state, i, seat: f"cards {state.cards[i]}"))
    assert_caught("hidden information", game, says="text shows seat 0 something else")


@kernel
def redeals_the_own_card(state, i, seat):
    redeal(state, i, seat)
    state.cards[i, seat] = draw(state, i, CARDS)


@pytest.mark.slow
def test_redeal_changes_what_the_seat_sees():
    assert_caught("hidden information", with_kernels(redeal=redeals_the_own_card), says="own_card")


@kernel
def redeals_nothing(state, i, seat):
    state.random[i, KEY] = 1


@kernel
def the_higher_card_wins_at_once(state, i, action):
    winner = 0 if int(state.cards[i, 0]) > int(state.cards[i, 1]) else 1
    state.rewards[i, winner] = 1
    state.rewards[i, 1 - winner] = -1
    state.terminated[i] = True


def test_redeal_changes_nothing():
    game = with_kernels(redeal=redeals_nothing, step=the_higher_card_wins_at_once)
    assert_caught("redeal", game, says="redeal changed neither what another seat sees nor what comes next")


# --- Random numbers -------------------------------------------------------------------------------------------------------


@kernel
def ignores_the_seed(state, i):
    state.random[i, STREAM] = 7
    reset(state, i)


def test_the_seed_is_ignored():
    assert_caught("seeds differ", with_kernels(reset=ignores_the_seed), says="another seed gives the same games")


@kernel
def deals_every_episode_alike(state, i):
    state.random[i, EPISODE] = 0
    reset(state, i)


def test_every_episode_is_the_same():
    assert_caught("seeds differ", with_kernels(reset=deals_every_episode_alike), says="the second games of the seed")


class IgnoresTheIndexOfAGame(KernelEngine):
    def _seed_streams(self, seed):
        super()._seed_streams(seed)
        self._records["random"][:, STREAM] = self.seed


def test_all_games_of_a_seed_are_the_same():
    assert_caught("seeds differ", maker=IgnoresTheIndexOfAGame, says=r"games 16\.\.31 of the seed")


@kernel
def draws_from_a_global_generator(state, i):
    reset(state, i)
    state.cards[i, 0] = (int(state.cards[i, 1]) + 1 + np.random.randint(CARDS - 1)) % CARDS


def test_a_global_generator_is_used():
    assert_caught("seeds repeat", with_kernels(reset=draws_from_a_global_generator))


def test_chance_is_denied():
    assert_caught("seeds differ", with_facts(chance=False), says="facts.chance is false")


# --- Batches and copies ---------------------------------------------------------------------------------------------------


@kernel
def sees_the_die_of_a_neighbour(state, i, seat, out):
    observe(state, max(i - 1, 0), seat, out)


def test_a_kernel_reads_a_neighbours_row():
    assert_caught("plain kernels", with_kernels(observe=sees_the_die_of_a_neighbour), says="another game's row")


@kernel
def writes_behind_its_row(state, i, action):
    step(state, i, action)
    if i + 1 < state.turn.shape[0]:
        state.random[i + 1, KEY] = state.random[i + 1, KEY]


def test_a_kernel_writes_to_a_neighbours_row():
    assert_caught("plain kernels", with_kernels(step=writes_behind_its_row), says="another game's row")


@kernel
def reads_outside_its_field(state, i, action):
    step(state, i, action)
    if int(state.cards[i, int(state.turn[i])]) == CARDS + 1:
        state.die[i] = 0


def test_a_kernel_reads_outside_a_field():
    assert_caught(
        "plain kernels",
        with_kernels(step=reads_outside_its_field),
        says=r"reads state.cards\[1, 2\], outside its shape",
    )


@kernel
def stores_what_does_not_fit(state, i):
    reset(state, i)
    state.raises[i] = 256


def test_a_kernel_stores_a_number_that_does_not_fit():
    assert_caught(
        "plain kernels", with_kernels(reset=stores_what_does_not_fit), says="writes 256 to state.raises, which is int8"
    )


class StepsAllRows(KernelEngine):
    def step(self, actions, rows=None):
        if rows is not None and len(rows) < self.num_games:
            everybody = np.zeros(self.num_games, np.int64)
            everybody[rows] = actions
            actions, rows = everybody, None
        super().step(actions, rows)


def test_stepping_some_rows_steps_all():
    assert_caught("stepping rows", maker=StepsAllRows)


class ResetsAllRows(KernelEngine):
    def reset(self, rows=None, options=None, seed=None):
        super().reset(None, options, seed)


def test_resetting_some_rows_resets_all():
    assert_caught("resetting rows", maker=ResetsAllRows, says="games left out")


class ClonesShareMemory(KernelEngine):
    def clone(self):
        other = super().clone()
        other._records = self._records
        return other


def test_a_clone_shares_memory():
    assert_caught("clone", maker=ClonesShareMemory)


class GathersInOrder(KernelEngine):
    def gather(self, rows):
        return super().gather(np.sort(rows))


def test_gather_loses_the_order():
    assert_caught("gather", maker=GathersInOrder)


class ForgetsTheCounter(KernelEngine):
    def restore(self, file):
        super().restore(file)
        self._records["random"][:, COUNTER] = 0


def test_restore_loses_the_counter_of_random_draws():
    assert_caught("save and restore", maker=ForgetsTheCounter, says="state field 'random'")


# --- Outcomes -------------------------------------------------------------------------------------------------------------


@kernel
def pays_the_winner_twice(state, i, action):
    step(state, i, action)
    for seat in range(2):
        if state.rewards[i, seat] > 0:
            state.rewards[i, seat] *= 2


def test_zero_sum_does_not_sum_to_zero():
    assert_caught("rewards", with_kernels(step=pays_the_winner_twice), says="reward is 'zero_sum'")


def test_shared_rewards_are_not_shared():
    assert_caught("rewards", with_facts(reward="shared"), says="reward is 'shared'")


def test_seats_of_a_team_get_different_returns():
    assert_caught("rewards", with_facts(teams=(0, 0)), says=r"seats \[0, 1\] are a team, but their returns are")
    assert_caught("facts", with_facts(teams=(0, 1, 0)), says=r"teams=\(0, 1, 0\): give the team of each of the 2 seats")


def test_returns_leave_their_bounds():
    assert_caught("rewards", with_facts(min_return=-1), says="min_return..max_return")


def test_a_game_takes_too_long():
    assert_caught("longest game", with_facts(longest_game=3), says="longest_game is 3")


class GoesOnAfterTheEnd(KernelEngine):
    def step(self, actions, rows=None):
        over = self.over
        super().step(actions, rows)
        self._records["turn"][over] += 1


def test_a_finished_game_goes_on():
    assert_caught("finished games", maker=GoesOnAfterTheEnd, says="were over before: game 0: .* turn")


class PaysAfterTheEnd(KernelEngine):
    @property
    def rewards(self):
        return super().rewards + (self._records["turn"] > 3)[:, None]


def test_a_finished_game_pays_again():
    assert_caught("rewards", maker=PaysAfterTheEnd)


class MasksOfFinishedGamesAreEmpty(KernelEngine):
    def legal(self, out=None):
        return super().legal() & ~self.over[:, None]


def test_the_mask_of_a_finished_game_is_not_all_true():
    assert_caught("finished games", maker=MasksOfFinishedGamesAreEmpty, says="mask is not all true")


# --- Observations ---------------------------------------------------------------------------------------------------------


class LeavesGivenArraysAsTheyAre(KernelEngine):
    def observe(self, seat=None, rows=None, packed=False, out=None):
        return super().observe(seat, rows, packed)


def test_an_engine_does_not_fill_given_arrays():
    assert_caught("given arrays", maker=LeavesGivenArraysAsTheyAre, says=r"observe\(out=...\) returned another array")


class PlaysWithOldMasks(KernelEngine):
    def play(self, actions, packed=False, out=None):
        before = self.legal()
        return super().play(actions, packed, out)._replace(masks=before)


def test_play_returns_masks_of_the_step_before():
    assert_caught("given arrays", maker=PlaysWithOldMasks, says="masks of play")


class ReusesItsBuffer(KernelEngine):
    def observe(self, seat=None, rows=None, packed=False, out=None):
        fresh = super().observe(seat, rows, packed, out)
        buffers = self.__dict__.setdefault("_buffers", {})
        kept = buffers.setdefault((packed, fresh.shape), fresh)
        kept[:] = fresh
        return kept


def test_an_engine_reuses_its_buffer():
    assert_caught("fresh arrays", maker=ReusesItsBuffer, says=r"changed what observe\(\) had returned")


class ShowsItsOwnMasks(KernelEngine):
    def legal(self):
        return self._masks[:, 0]


def test_an_engine_hands_out_its_own_masks():
    assert_caught("fresh arrays", maker=ShowsItsOwnMasks, says=r"changed what legal\(\) had returned")


@kernel
def writes_a_two(state, i, seat, out):
    observe(state, i, seat, out)
    out[0] = 2


def test_an_observation_is_out_of_range():
    assert_caught("observations", with_kernels(observe=writes_a_two), says=r"own_card\[0\] is 2, must lie in 0.0..1.0")


class PacksBackwards(KernelEngine):
    def observe(self, seat=None, rows=None, packed=False):
        seen = super().observe(seat, rows, packed)
        return seen[:, ::-1].copy() if packed else seen


def test_packed_observations_are_other_ones():
    assert_caught("observations", maker=PacksBackwards, says="numpy.packbits")


@pytest.mark.parametrize(
    ("segments", "says"),
    [
        ((Segment("own_card", 0, 6), Segment("turn", 7, 4)), "'turn' starts at 7, the one before ends at 6"),
        ((Segment("own_card", 0, 6), Segment("turn", 5, 4)), "'turn' starts at 5"),
        ((Segment("own_card", 0, 6),), "segments end at 6, the observation has 15"),
        ((Segment("all", 0, 6), Segment("all", 6, 9)), "two segments share a name"),
    ],
)
def test_segments_do_not_tile_the_observation(segments, says):
    assert_caught(
        "segments", with_facts(observation=replace(HIGH_CARD.facts.observation, segments=segments)), says=says
    )


# --- The rest -------------------------------------------------------------------------------------------------------------


def test_two_actions_share_a_name():
    game = replace(HIGH_CARD, look=replace(HIGH_CARD.look, action_name=lambda head, action: "move"))
    assert_caught("action names", game, says="actions 0 and 1 are both called 'move'")


def test_unknown_reset_options_are_accepted():
    game = replace(HIGH_CARD, rules=replace(HIGH_CARD.rules, start=lambda options, count: {}))
    assert_caught("reset options", game, says="must raise OptionError")


def test_the_state_lacks_a_field_that_every_state_has():
    fields = {name: field for name, field in HIGH_CARD.rules.fields.items() if name != "truncated"}
    assert_caught("facts", replace(HIGH_CARD, rules=replace(HIGH_CARD.rules, fields=fields)), says="'truncated'")


def test_a_picture_is_not_well_formed():
    assert_caught(
        "pictures",
        replace(HIGH_CARD, look=replace(HIGH_CARD.look, svg=lambda state, i, seat: "<svg>")),
        says="not well-formed",
    )


# --- Views ----------------------------------------------------------------------------------------------------------------


def test_the_gymnasium_view_shows_another_mask(monkeypatch):
    monkeypatch.setattr(GameEnv, "_mask", lambda self: np.ones(3, bool))
    assert_caught("Gymnasium env", says="mask at action 2 is 1")


def test_the_gymnasium_view_gives_the_reward_of_another_seat(monkeypatch):
    honest = GameEnv.step
    monkeypatch.setattr(GameEnv, "step", lambda self, action: negated(honest(self, action)))
    assert_caught("Gymnasium env", says="reward is")


def negated(result):
    observation, reward, *rest = result
    return observation, -reward, *rest


def test_the_vector_view_reuses_its_buffer(monkeypatch):
    honest = GameVectorEnv.step

    def reusing(self, actions):
        observation, *rest = honest(self, actions)
        self.kept = vars(self).get("kept", observation)
        self.kept[:] = observation
        return self.kept, *rest

    monkeypatch.setattr(GameVectorEnv, "step", reusing)
    assert_caught("Gymnasium vector", says="a later step changed an array returned before")


def test_the_parallel_view_shows_an_agent_the_observation_of_another(monkeypatch):
    monkeypatch.setattr(GameParallelEnv, "_seen", lambda self, seat: swapped(self, seat))
    assert_caught("PettingZoo parallel", says="player_0 sees own_card")


def swapped(env, seat):
    return {"observation": env.engine.observe(1 - seat)[0], "action_mask": env._mask(seat, env._mover)}


# --- CUDA simulator -------------------------------------------------------------------------------------------------------

needs_numba_cuda = pytest.mark.skipif(find_spec("numba_cuda") is None, reason="numba-cuda is not installed")


@pytest.mark.slow
@needs_numba_cuda
def test_the_cuda_simulator_plays_other_games(monkeypatch):
    def another_seed(trial):
        return record(trial.engine(games=simulator.GAMES, seed=trial.seed + 1), trial.generator("simulator"))

    monkeypatch.setattr(simulator, "_recorded", another_seed)
    with pytest.raises(ConformanceError, match="step 0, CUDA simulator: game 0: observation of seat 0 at own_card"):
        cuda_simulator_agrees(Trial(HIGH_CARD, KernelEngine, 8, 0, "auto"))


def test_a_game_that_no_other_process_can_make_is_not_simulated():
    remark = cuda_simulator_agrees(Trial(games.nim(), KernelEngine, 8, 0, "auto"))
    assert "no other process can make it" in remark or "numba-cuda is not installed" in remark


def test_a_value_beyond_the_bounds_of_its_field():
    narrow = replace(
        HIGH_CARD,
        rules=replace(HIGH_CARD.rules, fields={**HIGH_CARD.rules.fields, "die": Field("int8", low=0, high=SIDES - 2)}),
    )
    with pytest.raises(ConformanceError, match=r"step 0: .*'die' of game \d+ is 2, must be from 0 to 1"):
        states_stay_within_their_bounds(Trial(narrow, KernelEngine, 16, 0))


def test_fields_that_contradict_each_other():
    never = replace(HIGH_CARD, rules=replace(HIGH_CARD.rules, consistent=lambda state: state.turn < 2))
    with pytest.raises(ConformanceError, match=r"step 2: .*fields of game \d+ contradict each other"):
        states_stay_within_their_bounds(Trial(never, KernelEngine, 16, 0))


@pytest.mark.slow
def test_continuous_actions_are_drawn_from_their_box_and_refused_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """One pendulum: the views take the drawn torques, and an engine that plays a torque outside the box is found out."""
    pendulum = ludory.make_game("gymnasium:Pendulum-v1")
    check_game(pendulum, games=2)
    monkeypatch.setattr(ExternalEngine, "_checked_numbers", lambda self, given, rows: given.astype(np.float32))
    with pytest.raises(
        ConformanceError,
        match=r"illegal actions: WorkerError: environment 0 failed after the actions \[nan\]",
    ):
        check_game(pendulum, games=2)
