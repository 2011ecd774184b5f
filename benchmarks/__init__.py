"""What Ludory claims, measured beside peers."""

if not __name__.startswith("ludory."):
    raise ImportError("this is ludory's benchmarks room; type `import ludory.benchmarks`")
