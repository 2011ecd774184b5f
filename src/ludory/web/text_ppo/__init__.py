"""Episodes from which language models learn, in the browser."""
