"""Language models that play: backends, tokens, the small model, the agent."""
