"""Where trajectories come from: vocabularies and rules that are not those of this version."""

from __future__ import annotations

from ludory.envs.conventions import warn_of_rules
from ludory.envs.pokemon.formats import RULES
from ludory.envs.pokemon.vocab import VOCAB_SHA256
from ludory.errors import DataError

from .trajectories import BattleTrajectory

NOT_TOLD = (None, "", "unknown")
"""Values of `rules` of which nothing can be said, as in replays from elsewhere."""


def check_origin(trajectory: BattleTrajectory, place: object, remap_vocab: bool = False) -> None:
    """Compare the vocabularies and rules of a trajectory with this version's; other rules are a warning, once.

    Observations of trajectories with a `stream` are computed from names, so remapping is to compute them with this version's vocabularies.

    Args:
        trajectory: to be learnt from. Files of the seed's schema tell neither, and are taken as they are.
        place: its file, for messages.
        remap_vocab: accept another vocabulary where names are known.

    Raises:
        DataError: the vocabularies differ, and `remap_vocab` is False or the names are not known.
    """
    rules, found = trajectory.meta.get("rules"), trajectory.meta.get("vocab_sha256")
    if rules not in NOT_TOLD:
        warn_of_rules(str(place), str(rules), RULES)
    if found in (None, VOCAB_SHA256):
        return
    told = (
        f"{place}, battle {trajectory.replay_id}: vocab_sha256 {str(found)[:12]}, this version has {VOCAB_SHA256[:12]}"
    )
    if not trajectory.stream:
        raise DataError(
            f"{told}; the names of that vocabulary are not in the file (it has no stream), so its ids cannot be remapped: "
            "convert the replays again with `ludory pokemon convert`"
        )
    if not remap_vocab:
        raise DataError(
            f"{told}; type remap_vocab=True (--remap-vocab) to number the names of its stream by this version's vocabularies"
        )


def remapped(name: str, remap_vocab: bool) -> str:
    """Name of a cache folder; one that was made by remapping is not found without it."""
    return f"{name}-remapped" if remap_vocab else name
