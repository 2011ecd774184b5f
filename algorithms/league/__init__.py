"""The league: several players trained at once from one supervised policy, and measures of the result.

`run` is the league in one process, `algorithm` the same as a learner. The mathematics are pure functions over arrays: who plays whom
(`matchmaking`), ratings and equilibria (`metagame`). `log` is the event log and the state after its events; `report` reads a log and
writes tables and charts.
"""
