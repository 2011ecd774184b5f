"""The league: several players trained at once from one supervised policy, and what is true about the result.

The mathematics are pure functions over arrays: `pfsp`, `payoff`, `matchmaking`, `snapshots`, `ratings`, `metagame`. `report_input` reads
an event log, `report` and its neighbours turn it into files.
"""
