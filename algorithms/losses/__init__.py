"""Returns, advantages and losses that several algorithms share."""
