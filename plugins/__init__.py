"""The registry: find, list, load games, agents, algorithms, benchmarks and commands."""

if not __name__.startswith("ludory."):
    raise ImportError("this is ludory's plugins room; type `import ludory.plugins`")
