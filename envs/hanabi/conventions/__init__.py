"""Conventions that partners of Hanabi may share, those of SmartBot: what they make of every move."""
