"""Texas 42's agents: exact solver, tabulator, and players built on them."""
