"""Text games as environments of TextArena: one player, the language model; Ludory's agents have the other seats."""

from __future__ import annotations

from typing import Any

from ludory.agents.language.extras import needed
from ludory.envs import Game, TextEnv
from ludory.errors import OptionError

needed("textarena", "textarena")
import textarena as ta  # noqa: E402


class LudoryTextEnv(ta.Env):  # type: ignore[misc]
    """One episode at a time by the calls of TextArena. The player's reward is the score of `TextEnv`: rewards and penalties.

    A reply that is out of form costs what `TextEnv` says; the budget of turns, not TextArena's allowance of errors, ends an episode.

    Args:
        game: id of a text game, or a `Game`.
        options: of `TextEnv`, such as `opponents`.

    Raises:
        OptionError: an option is not allowed, or the game has no texts.
    """

    def __init__(self, game: str | Game, **options: Any) -> None:
        self.text_env = TextEnv(game, **options)
        """The environment that is played."""

    def reset(self, num_players: int = 1, seed: int | None = None) -> None:
        """Start an episode; without a seed, in the next room.

        Raises:
            OptionError: `num_players` is not 1.
        """
        if num_players != 1:
            raise OptionError(f"num_players={num_players}: must be 1; opponents= names the players of the other seats")
        env = self.text_env
        env.reset(seed)
        # TextArena would seed the generator of the whole process
        self.state = ta.SinglePlayerState(num_players=1, seed=None, max_turns=env.preset.turns)
        self.state.reset(
            game_state={"game": env.game.name}, player_prompt_function=lambda player_id, game_state: env.observation
        )

    def step(self, action: str) -> tuple[bool, dict[str, Any]]:
        """Execute a reply; returns whether the episode has ended, and the reply's `form`, `illegal` action and `reward`."""
        self.state.add_observation(action, ta.ObservationType.PLAYER_ACTION, from_id=0)
        text, reward, terminated, truncated, info = self.text_env.step(action)
        record = info["record"]
        self.state.step_info = {"form": record.verdict.form, "illegal": record.illegal, "reward": reward}
        self.state.add_observation(text, ta.ObservationType.GAME_BOARD)
        if terminated or truncated:
            ended = "the game is over" if terminated else "the turns, the actions or the game's own limit are used up"
            self.state.set_outcome(
                float(self.text_env.scores[0]), f"{'success' if info['success'] else 'no success'}: {ended}"
            )
        done, told = self.state.step()
        return bool(done), told


def register(*games: str, **options: Any) -> list[str]:
    """Make games known to `textarena.make`, as "ludory/ID"; returns these names. `options` are those of `LudoryTextEnv`.

    Raises:
        UnknownIdError: no game has this id.
    """
    names = []
    for game in games:
        TextEnv(game, **options).close()
        ta.register(name := f"ludory/{game}", LudoryTextEnv, [ta.wrappers.LLMObservationWrapper], game=game, **options)
        names.append(name)
    return names
