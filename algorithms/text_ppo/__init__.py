"""PPO and GRPO over sequences of tokens: language models that learn games in text (arXiv:1707.06347, arXiv:2402.03300)."""
