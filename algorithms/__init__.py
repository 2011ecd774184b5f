"""How agents learn."""

if not __name__.startswith("ludory."):
    raise ImportError("this is ludory's algorithms room; type `import ludory.algorithms`")
