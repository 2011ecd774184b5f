"""Steps per second of engines and environments, beside other libraries."""
