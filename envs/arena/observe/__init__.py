"""What a seat of the arena sees: `full`, `tactical`, `evasive`, and the whole scene for a privileged value."""
