"""The report of a league: tables, charts, files."""
