"""Search agents: they play worlds that agree with what their seat knows to the end, and choose what went best."""
