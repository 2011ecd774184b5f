"""Actions of poke-env's `SinglesEnv`: every action of ours has one, and comes back."""

import numpy as np
import pytest

from ludory.envs.pokemon.codec import from_poke_env, to_poke_env
from ludory.envs.pokemon.formats import num_actions
from ludory.errors import OptionError


@pytest.mark.parametrize("gimmick", ["native", "never"])
@pytest.mark.parametrize("gen", range(1, 10))
def test_every_action_comes_back(gen, gimmick):
    actions = np.arange(num_actions(gen, gimmick))
    theirs = to_poke_env(actions, gen, gimmick)
    assert len(set(theirs.tolist())) == len(actions)
    assert (from_poke_env(theirs, gen, gimmick) == actions).all()


@pytest.mark.parametrize(
    ("gen", "ours", "theirs"),
    [(1, 0, 6), (1, 3, 9), (4, 4, 0), (4, 9, 5), (6, 10, 10), (7, 13, 13), (7, 14, 14), (8, 10, 18), (9, 13, 25)],
)
def test_numbers_of_both(gen, ours, theirs):
    assert to_poke_env(ours, gen) == theirs
    assert from_poke_env(theirs, gen) == ours


def test_what_has_no_counterpart_is_refused_with_a_reason():
    with pytest.raises(OptionError, match="action -1: it forfeits"):
        from_poke_env([6, -1], 9)
    with pytest.raises(OptionError, match="leaves the choice to the server"):
        from_poke_env(-2, 9)
    with pytest.raises(OptionError, match="generation 9 has 0 to 9 and 22, 23, 24, 25"):
        from_poke_env(10, 9)
    with pytest.raises(OptionError, match="gimmick='native'"):
        from_poke_env(22, 9, "never")
    with pytest.raises(OptionError, match=r"action 14: generation 9 .* 0 to 13"):
        to_poke_env(14, 9)
