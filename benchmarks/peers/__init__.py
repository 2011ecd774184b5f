"""What is measured: one file per contestant, each run in a process of its own by `worker.py`.

A contestant is a module with `start(*arguments)`, which returns its versions and a function `play(observe)`. That plays a burst of
uniformly random legal moves, starts a new game wherever one ends, and returns the number of decisions. At every decision the
legal moves of the seat to move are asked for and, if `observe`, all that this seat sees. These files import nothing of
each other, so that a peer runs in an environment without Ludory.
"""
