"""Games, and the views of games."""

if not __name__.startswith("ludory."):
    raise ImportError("this is ludory's envs room; type `import ludory.envs`")
