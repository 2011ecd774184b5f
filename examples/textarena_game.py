"""Connect Four by the calls of TextArena, against a random player: always the leftmost column that is open."""

import textarena as ta

from ludory.agents.language.adapters.textarena import register


def main(seed: int = 1) -> float:
    """Play a game; returns the reward of the player."""
    (name,) = register("ConnectFour-v0", opponents="random")
    env = ta.make(name)
    env.reset(num_players=1, seed=seed)
    done = False
    while not done:
        _, observation = env.get_observation()
        # a language model would answer `observation` here, which is the whole conversation
        action = observation.split("You may: ")[-1].split(",")[0].split(".")[0]
        done, _ = env.step(f"<think>The first one is fine.</think><answer>{action}</answer>")
    rewards, _ = env.close()
    return rewards[0]


if __name__ == "__main__":
    print(main())
