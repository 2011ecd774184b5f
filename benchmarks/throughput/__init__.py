"""Steps per second of engines and environments, next to other libraries."""
