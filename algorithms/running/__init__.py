"""What every run needs besides its algorithm: checkpoints, locks, logs, interrupts, threads."""
