"""Recording games that agents play."""
