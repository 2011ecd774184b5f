"""What benchmarks share: contestants in turns, timing, machines, result files, charts."""
