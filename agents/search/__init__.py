"""Search agents: they play out worlds that agree with what their seat knows, and choose the best action."""
