"""Stored runs and what is computed from them: reading, comparison, sweeps and learning curves."""
