"""Ludory's text games under a name that verifiers can import: `vf-eval ludory-text --env.taskset.game Hanabi2P-v0`."""

from ludory.agents.language.adapters.verifiers import LudoryEnv, LudoryHarness, LudoryTaskset

__all__ = ["LudoryEnv", "LudoryHarness", "LudoryTaskset"]
