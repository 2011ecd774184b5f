"""PPO and GRPO over sequences of tokens."""
