"""Analysis of a table of results: ratings, Nash averaging, alpha-rank."""
