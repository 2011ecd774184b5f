"""Checkpoints on disk: files and folders, their headers, and which algorithm wrote them."""
