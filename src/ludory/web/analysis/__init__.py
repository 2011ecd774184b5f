"""Analysis of recorded games: values of moves, beliefs, what agents would play, and where a game was lost.

`ludory analyse` prints what the analysis board shows, from the same functions.
"""
