"""Scripted styles of the arena: they know only what their seat may see."""
