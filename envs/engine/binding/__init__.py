"""Binds a game's scalar kernels to loops over games: `bind` writes a module with both and compiles it once per machine."""
