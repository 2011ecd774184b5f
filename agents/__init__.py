"""Who chooses the moves."""

if not __name__.startswith("ludory."):
    raise ImportError("this is ludory's agents room; type `import ludory.agents`")
