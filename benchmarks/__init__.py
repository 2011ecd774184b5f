"""Benchmarks: what Ludory claims, measured next to other libraries."""

if not __name__.startswith("ludory."):
    raise ImportError("this is ludory's benchmarks room; type `import ludory.benchmarks`")
