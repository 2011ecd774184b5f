"""Text games: replies, prompts and `TextEnv`, the view that takes strings and returns strings."""
