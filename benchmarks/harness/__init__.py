"""What benchmarks share: options, commands, kept parts, timing, machines, result files."""
