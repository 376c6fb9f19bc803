"""Runs: asking, keeping, resuming."""
