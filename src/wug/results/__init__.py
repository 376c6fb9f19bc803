"""The run store, and comparisons, sweeps and learning curves of stored runs."""
