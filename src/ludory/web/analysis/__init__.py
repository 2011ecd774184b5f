"""Reports on recorded games, from `ludory.agents.analysis`: values of moves, what agents would play, and where a game was lost.

`ludory analyse` prints what the analysis board shows, from the same functions.
"""
