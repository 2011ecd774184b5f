"""World-model fine-tuning of language models by self-play."""
