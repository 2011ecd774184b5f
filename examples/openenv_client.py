"""A client of `ludory serve openenv Hanabi2P-v0 --opponents hanabi/iggi`: plays one game by always discarding or playing its oldest card."""

import sys

from openenv.core import GenericEnvClient


def main(address: str = "http://127.0.0.1:8000", seed: int = 3) -> float:
    """Play a game; returns its score."""
    with GenericEnvClient(base_url=address).sync() as env:
        result = env.reset(seed=seed)
        while not result.done:
            # a language model would answer `result.observation["messages"]` here
            may_discard = "discard 1" in result.observation["text"].split("You may: ")[1]
            action = "discard 1" if may_discard else "play 1"
            result = env.step({"reply": f"<think>I see no better move.</think><answer>{action}</answer>"})
        return env.state()["score"]


if __name__ == "__main__":
    print(main(*sys.argv[1:]))
