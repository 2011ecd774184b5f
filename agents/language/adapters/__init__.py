"""Text games as environments of other libraries: OpenEnv, verifiers, TextArena and TRL, one module each."""
