"""How results become rows of tables, subject by subject; `results_table` puts them into the manual."""
