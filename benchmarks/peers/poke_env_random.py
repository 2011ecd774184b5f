"""Two random players of poke-env on a Showdown server; runs in poke-env's own environment and imports nothing of Ludory.

    python poke_env_random.py PORT FORMAT

For each number that it reads it plays so many battles, and writes {"turns": .., "seconds": .., "cpu_seconds": ..} of this process.
"""

# mypy: ignore-errors

import asyncio
import json
import secrets
import sys
import time

from poke_env import AccountConfiguration, ServerConfiguration
from poke_env.player import RandomPlayer

AT_ONCE = 16
"""Battles that run at the same time."""


def main():
    """Play until the input ends."""
    port, battle_format = sys.argv[1:]
    server = ServerConfiguration(f"ws://127.0.0.1:{port}/showdown/websocket", "")
    one, other = (
        RandomPlayer(
            AccountConfiguration(f"bench{secrets.token_hex(5)}", None),
            battle_format=battle_format,
            server_configuration=server,
            max_concurrent_battles=AT_ONCE,
            log_level=40,
        )
        for _ in range(2)
    )
    for line in sys.stdin:
        one.reset_battles()
        other.reset_battles()
        started, cpu = time.perf_counter(), time.process_time()
        asyncio.run(one.battle_against(other, n_battles=int(line)))
        turns = sum(battle.turn for battle in one.battles.values())
        found = {"seconds": time.perf_counter() - started, "cpu_seconds": time.process_time() - cpu}
        print(json.dumps({"turns": turns, **found}), flush=True)


main()
